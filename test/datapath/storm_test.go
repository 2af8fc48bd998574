package datapath

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

var storms = flag.Int("packets", 200_000, "of TestStorm")

// storm sends packets of every kind, most of them damaged, in both directions.
type storm struct {
	duel                            // for its packets; its model stays empty
	everyone []netip.Addr           // addresses of random packets
	answers  map[bool][]model.Tuple // of packets that came out of the side: who would answer them how
	reserved map[uint64]bool
	local    []netip.Addr // the gateway's own addresses, those of its networks' ends included
}

// TestStorm sends 200,000 random and mutated packets, mixed with good ones so
// that they reach deep: none crashes the data plane or leaves it untranslated,
// and when all timeouts are over no table holds anything.
func TestStorm(t *testing.T) {
	t.Parallel()
	local := []netip.Addr{publicAddress, privateAddress, netip.MustParseAddr("198.18.0.255"), netip.MustParseAddr("198.18.0.0"),
		netip.MustParseAddr("10.0.255.255"), netip.MustParseAddr("10.0.0.0"), netip.MustParseAddr("255.255.255.255")}
	t.Run("an address of its own", func(t *testing.T) { rage(t, *storms, local) })
	t.Run("a shared address", func(t *testing.T) { rage(t, *storms/4, append(local, outbound), shared) })
}

func rage(t *testing.T, frames int, local []netip.Addr, options ...option) {
	t.Helper()
	g := newGateway(t, append(options, capacity(1<<17), outboundAddresses(outbound))...)
	s := newStorm(g, local)
	before := must(dataplane.Audit(g.data))(t)
	g.in(func() error {
		for s.step = range frames {
			if err := s.send(); err != nil {
				return fmt.Errorf("step %d: %w", s.step, err)
			}
			if s.step%500 == 0 {
				s.lend()
			}
		}
		return nil
	})
	s.wantReached("forwarded", "drop_malformed", "drop_fragment", "drop_vlan", "drop_filtered", "drop_not_syn")
	s.leavesNothing(before)
}

func newStorm(g *gateway, local []netip.Addr) *storm {
	return &storm{duel: duel{gateway: g, model: newNAT(model.AddressDependent), r: randomSource(g.t)},
		everyone: []netip.Addr{hostA, hostB, outbound, pool1, pool2, remote, remote2, router, publicAddress, privateAddress},
		answers:  map[bool][]model.Tuple{}, reserved: map[uint64]bool{}, local: local}
}

// leavesNothing wants the tables to be as they were, when all is withdrawn and all timeouts are over.
func (s *storm) leavesNothing(before dataplane.Census) {
	s.t.Helper()
	if n := s.counters()["drop_internal"]; n > 0 {
		s.t.Errorf("%d times that cannot be", n)
	}
	check(s.t, auditError(dataplane.Audit(s.data)))
	for id := range s.reserved {
		must(s.data.Withdraw(id))(s.t)
	}
	for _, b := range s.bound {
		s.unbind(b)
	}
	s.settings = datapath.Settings{Filtering: model.AddressDependent}
	must(s.data.SetPolicy(s.settings, s.services, nil))(s.t)
	if after := s.drained(before); after != before {
		s.t.Fatalf("left over after all timeouts: %+v, want %+v", after, before)
	}
}

func auditError(_ dataplane.Census, err error) error { return err }

// drained sweeps until nothing but free records is left, and returns what
// stands then, without those.
func (g *gateway) drained(want dataplane.Census) dataplane.Census {
	g.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		g.sweep()
		census := must(dataplane.Audit(g.data))(g.t)
		census.Free = want.Free
		if census == want || time.Now().After(deadline) {
			return census
		}
	}
}

// lend withdraws a reservation now and then, moves a port of the pool to another host, and reserves that.
func (s *storm) lend() {
	slot := uint64(s.r.IntN(8))
	for id := range s.reserved {
		if id&0xffffffff == slot {
			must(s.data.Withdraw(id))(s.t)
			delete(s.reserved, id)
		}
	}
	if _, found := s.vacant(); !found {
		return
	}
	s.next++
	address, port := pool1, model.Port{Protocol: choose(s.r, model.UDP, model.TCP), Port: uint16(80 + slot), To: 8080}
	if slot == 7 {
		address, port = pool2, everything
	}
	b := s.bind(address, choose(s.r, hostA, hostB), port)
	r := datapath.Reservation{
		ID: s.next<<32 | slot, Binding: b.ID, Asker: choose(s.r, asker, remote, router), Expires: datapath.Now().Add(time.Hour),
		Merged: s.r.IntN(16), Window: time.Minute, Claims: 1 + s.r.IntN(8),
	}
	check(s.t, s.data.Reserve(r))
	s.reserved[r.ID] = true
}

// frame makes the next frame of the side.
func (s *storm) frame(public bool) []byte {
	kind := s.r.IntN(8)
	if kind < 2 {
		return s.damaged(frames.Random(s.r, s.everyone).Bytes())
	}
	p := s.odd(s.flow(public))
	if kind < 5 {
		return s.damaged(p.Bytes())
	}
	return p.Bytes()
}

// odd makes now and then of a packet one that does not get far, or an error about it.
func (s *storm) odd(p packets.Packet) packets.Packet {
	if s.r.IntN(30) == 0 {
		p.IPv4.TTL = uint8(s.r.IntN(3))
	}
	if s.r.IntN(30) == 0 && p.ICMP == nil {
		from := choose(s.r, s.everyone...)
		p = packets.NewICMPError(from, p.IPv4.Source, packets.TimeExceeded, 0, 0, p, choose(s.r, 8, 20, -1))
	}
	return p
}

func (s *storm) damaged(frame []byte) []byte {
	if s.r.IntN(2) == 0 {
		return frame
	}
	return frames.Mutate(s.r, frame)
}

// flow makes a packet that may well pass: one of a session that stands, or one
// that could open one.
func (s *storm) flow(public bool) packets.Packet {
	if known := s.answers[public]; len(known) > 0 && s.r.IntN(2) == 0 {
		t := choose(s.r, known...)
		return s.packet(t.Protocol, t.Source, t.Destination, s.r.IntN(4) == 0)
	}
	protocol := choose(s.r, model.UDP, model.TCP, model.ICMP)
	port := func() uint16 { return uint16(choose(s.r, 53, 80, 81, 82, 83, 84, 85, 86, 87, 1024+s.r.IntN(64512))) }
	from, to := choose(s.r, hostA, hostB), choose(s.r, remote, remote2, outbound, pool1, pool2)
	if public {
		from, to = choose(s.r, remote, remote2), choose(s.r, outbound, pool1, pool1, pool2)
	}
	if s.r.IntN(8) == 0 {
		name := choose(s.r, slices.Sorted(maps.Keys(basics))...)
		return basics[name](from, to)
	}
	return s.packet(protocol, netip.AddrPortFrom(from, port()), netip.AddrPortFrom(to, port()), s.r.IntN(3) > 0)
}

// send puts one frame in and checks what comes out.
func (s *storm) send() error {
	public := s.r.IntN(2) == 0
	ifindex := s.private
	if public {
		ifindex = s.public
	}
	frame := s.frame(public)
	if !runs(frame) {
		return nil
	}
	action, out, err := s.inject(public, ifindex, frame)
	if err != nil {
		return err
	}
	if problem := s.judge(public, frame, action, out); problem != "" {
		return fmt.Errorf("%s:\nin  (public side %v) % x\nout (%v) % x", problem, public, frame, action, out)
	}
	return nil
}

// isError reports whether p is an ICMP error as the gateway itself writes them.
func isError(p packets.Packet) bool {
	return p.ICMP != nil && (p.ICMP.Type == packets.TimeExceeded || p.ICMP.Type == packets.DestinationUnreachable)
}

func isInside(a netip.Addr) bool { return netip.MustParsePrefix("10.0.0.0/16").Contains(a) }

// judge says what is wrong with what came out; "" when nothing is.
func (s *storm) judge(public bool, in []byte, action dataplane.Action, out []byte) string {
	before, _ := packets.Parse(in)
	after, err := packets.Parse(out)
	switch action {
	case dataplane.Drop:
		return ""
	case dataplane.Pass:
		// Link-local multicast of IPv6 whose length is wrong is the kernel's matter, too.
		if len(in) >= 54 && in[12] == 0x86 && in[13] == 0xdd && in[38] == 0xff && in[39]&15 == 2 {
			return ""
		}
		return s.judgePass(public, before, after)
	case dataplane.Redirect:
	default:
		return "an action that no packet should get"
	}
	switch {
	case public && after.Ethernet.Type == packets.TypeARP: // an answer; its address lengths may be what the question said
		return ""
	case err != nil || after.IPv4 == nil:
		return "a redirected frame that is no packet"
	case isError(after) && after.IPv4.Source == either(public, publicAddress, privateAddress):
		// Known: of a hairpin the data plane tells the translated source.
		hairpin := !public && before.IPv4 != nil && isOurs(before.IPv4.Destination) && isOurs(after.IPv4.Destination)
		if before.IPv4 == nil || after.IPv4.Destination != before.IPv4.Source && !hairpin {
			return "an ICMP error to somebody who sent nothing"
		}
		return ""
	case !public && isResetOf(after, before): // a host inside that answers a client who is gone
		return ""
	case public && isCookieOf(after, before): // a binding that has no room
		return ""
	}
	toPublic := after.Ethernet.Destination == packets.RouterMAC
	if mac := after.Ethernet.Destination; mac[0] == 0x52 { // with copies that become the fragments held for it (bpf/fragment/carrier.h)
		toPublic = mac[3] == 2
	}
	return s.translated(public, toPublic, after)
}

// isResetOf reports whether a packet is the RST that answers another's segment.
func isResetOf(p, of packets.Packet) bool {
	return p.TCP != nil && of.TCP != nil && p.TCP.Flags == packets.RST && p.Tuple().Source == of.Tuple().Destination &&
		p.Tuple().Destination == of.Tuple().Source && p.TCP.Sequence == of.TCP.Acknowledge
}

// isCookieOf reports whether a packet is the SYN and ACK that answers another's SYN.
func isCookieOf(p, of packets.Packet) bool {
	return p.TCP != nil && of.TCP != nil && p.TCP.Flags == packets.SYN|packets.ACK && of.TCP.Flags&(packets.SYN|packets.ACK|packets.RST) == packets.SYN &&
		p.Tuple().Source == of.Tuple().Destination && p.Tuple().Destination == of.Tuple().Source && p.TCP.Acknowledge == of.TCP.Sequence+1
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// translated checks a packet that goes to one of the sides, and remembers how
// it would be answered.
func (s *storm) translated(public, toPublic bool, p packets.Packet) string {
	from, to := p.IPv4.Source, p.IPv4.Destination
	switch {
	case toPublic && (public || !isOurs(from)):
		return "an untranslated source leaves"
	case toPublic && (isInside(to) || isOurs(to)):
		return "a packet leaves that should not have"
	case !toPublic && !isInside(to):
		return "an untranslated destination comes in"
	case !toPublic && !public && !isOurs(from):
		return "an untranslated source comes back in"
	}
	t := p.Tuple()
	if p.IPv4.FragmentOffset == 0 && (t.Source.Port() != 0 || t.Destination.Port() != 0) {
		known := append(s.answers[toPublic], model.Tuple{Protocol: t.Protocol, Source: t.Destination, Destination: t.Source})
		s.answers[toPublic] = known[max(0, len(known)-64):]
	}
	return ""
}

// judgePass checks a packet that is left to the kernel: one for the gateway
// itself, or one translated already.
func (s *storm) judgePass(public bool, before, after packets.Packet) string {
	if before.ARP != nil || before.Ethernet.Type == packets.TypeARP {
		return ""
	}
	if before.IPv6 != nil {
		if a := before.IPv6.Destination; !a.IsMulticast() && !a.IsLinkLocalUnicast() {
			return "an IPv6 packet passed"
		}
		return ""
	}
	if after.IPv4 == nil {
		return "something that is not IPv4 passed"
	}
	from, to := after.IPv4.Source, after.IPv4.Destination
	switch {
	case (slices.Contains(s.local, to) || to.IsLinkLocalMulticast()) && to == before.IPv4.Destination && from == before.IPv4.Source:
		return ""
	case public && (!isInside(to) || !isOurs(before.IPv4.Destination)):
		return "a packet from outside is left to the kernel untranslated"
	case !public && isInside(to) && to == before.IPv4.Destination: // between two networks inside
		return ""
	case !public && !isOurs(from):
		return "a packet from inside is left to the kernel untranslated"
	}
	return ""
}
