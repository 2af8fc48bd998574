package datapath

import (
	"flag"
	"maps"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

var (
	seed  = flag.Uint64("seed", 0, "of the random tests; 0: one from the clock, which a failure prints")
	steps = flag.Int("steps", 4_000, "of TestDifferential for each filtering")
)

func randomSource(t testing.TB) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: go test ./test/datapath -run '%s' -seed %d", t.Name(), s)
		}
	})
	return rand.New(rand.NewPCG(s, 0))
}

// duel drives the same random steps through the model and the data plane.
type duel struct {
	*gateway
	model *nat
	r     *rand.Rand
	ways  []way
	next  uint64 // reservations that a storm has made
	step  int
	macs  map[bool]packets.MAC // of the gateway's interface on the public side, on the private
	dry   *datapath.Dry
}

// TestDifferential holds the data plane against a plain model of RFC 4787,
// 5382, 5508 and the circular pool, packet by packet and field by field.
func TestDifferential(t *testing.T) {
	t.Parallel()
	// The rarest ends of packets: one of the runs may go without.
	rare := map[model.Reason]uint64{"drop_client_limit": 0, "drop_claim_lost": 0}
	fight := func(d *duel, reasons ...model.Reason) {
		d.fight(reasons...)
		for reason := range rare {
			rare[reason] += d.counters()[reason]
		}
	}
	for _, f := range []model.Filtering{model.AddressDependent, model.EndpointIndependent, model.AddressAndPortDependent} {
		t.Run(f.String(), func(t *testing.T) { fight(newDuel(t, f), "drop_no_mapping") })
	}
	t.Run("on a shared address", func(t *testing.T) {
		d := newDuel(t, model.AddressDependent, shared)
		d.model.shared = true
		fight(d)
	})
	for name, own := range map[string]bool{"on one address of the gateway's": true, "on one address": false} {
		t.Run(name, func(t *testing.T) {
			options, reasons := []option{shared}, []model.Reason(nil)
			if !own {
				options, reasons = nil, []model.Reason{"drop_no_mapping"}
			}
			d := newDuel(t, model.AddressDependent, options...)
			d.model.shared, d.ways = own, waysOfOne
			for _, w := range waysOfOne[:3] {
				d.model.kept = append(d.model.kept, w.ports...)
			}
			d.one(d.model.kept...)
			fight(d, reasons...)
			d.sound()
		})
	}
	for reason, count := range rare {
		if count == 0 {
			t.Errorf("no packet ended with %s", reason)
		}
	}
}

func newDuel(t *testing.T, f model.Filtering, options ...option) *duel {
	t.Helper()
	const most = 3
	// Few bindings, so that each has a long queue, and a ring in which settle leaves places.
	few := func(s *setup) { s.ClientSessions, s.Bindings, s.Filtering = most, 8, f }
	d := &duel{gateway: newGateway(t, append(options, few)...), model: newNAT(f), r: randomSource(t), ways: ways}
	d.model.most = most
	d.model.observe = d.observe
	d.macs = d.interfaceMACs()
	d.dry = d.dryRun(nil)
	d.model.fail = func(format string, args ...any) { t.Helper(); t.Fatalf(format, args...) }
	return d
}

// fight makes all the steps, and wants packets to end with each of the reasons
// too.
func (d *duel) fight(reasons ...model.Reason) {
	d.t.Helper()
	for d.step = range *steps {
		d.once()
		d.settle()
		if d.step%500 == 0 || d.step == *steps-1 {
			if diff := d.model.compare(d.sessions()); diff != "" {
				d.t.Fatalf("step %d: %s", d.step, diff)
			}
		}
	}
	d.wantReached(append(reasons, "forwarded", "drop_no_binding", "drop_no_reservation", "drop_claim_unproved",
		"drop_not_syn", "drop_no_session",
		"drop_session_conflict", "drop_spoofed_source", "drop_ttl_expired", "to_gateway", "inside_to_inside")...)
}

// wantReached fails unless packets ended with each of the reasons: a test that
// only ever sees drops shows nothing.
func (d *duel) wantReached(reasons ...model.Reason) {
	d.t.Helper()
	counters := d.counters()
	for _, reason := range reasons {
		if counters[reason] == 0 {
			d.t.Errorf("no packet ended with %s", reason)
		}
	}
	maps.DeleteFunc(counters, func(_ model.Reason, count uint64) bool { return count == 0 })
	d.t.Logf("%d sessions, %d mappings, reasons %v", len(d.model.sessions), len(d.model.mappings), counters)
}

func (d *duel) observe(e point) netip.AddrPort {
	for _, s := range d.sessions() {
		if s.Protocol == e.protocol && s.Private == e.at && s.Origin != "pool" {
			return s.External
		}
	}
	d.t.Fatalf("step %d: the data plane has no mapping for %v", d.step, e)
	return netip.AddrPort{}
}

func (g *gateway) interfaceMACs() map[bool]packets.MAC {
	macs := map[bool]packets.MAC{}
	g.in(func() error {
		for public, name := range map[bool]string{true: "eth0", false: "eth1"} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			var mac packets.MAC // of none where there are no link headers
			copy(mac[:], link.Attrs().HardwareAddr)
			macs[public] = mac
		}
		return nil
	})
	return macs
}

func choose[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// Few values, so that flows meet.
func (d *duel) host() netip.AddrPort {
	return netip.AddrPortFrom(choose(d.r, hostA, hostB), choose[uint16](d.r, 80, 443, 5000, 5001, 5002, 8080))
}

func (d *duel) stranger() netip.AddrPort {
	port := choose[uint16](d.r, 80, 5000, 40000)
	if d.r.IntN(4) == 0 { // somebody new, who needs a claim: sessions of the others stand
		port = uint16(1024 + d.r.IntN(60000))
	}
	return netip.AddrPortFrom(choose(d.r, remote, remote2, router), port)
}

// ours is one of our own endpoints: often one that is lent, mostly one that a
// mapping has.
func (d *duel) ours(protocol model.Protocol) netip.AddrPort {
	if b := d.someBinding(); b != nil && d.r.IntN(3) == 0 {
		for _, p := range b.ports {
			if p.Protocol == protocol && p.Port != 0 {
				return netip.AddrPortFrom(b.address, p.Port)
			}
		}
	}
	if mapped, ok := d.model.mappings[point{protocol, d.host()}]; ok && d.r.IntN(3) > 0 {
		return mapped
	}
	return netip.AddrPortFrom(choose(d.r, outbound, pool1, pool1, pool2), choose[uint16](d.r, 80, 443, 5000, 8080))
}

// once makes one step: a packet either way, an answer or its end, or a move.
func (d *duel) once() {
	protocol := choose(d.r, model.UDP, model.TCP, model.TCP, model.ICMP)
	switch d.r.IntN(30) {
	case 0, 1, 2, 3, 4, 5:
		d.out(d.packet(protocol, d.host(), d.stranger(), d.r.IntN(2) == 0))
	case 6, 7, 8:
		d.out(d.packet(protocol, d.host(), d.ours(protocol), d.r.IntN(2) == 0))
	case 9, 10, 11, 12, 13, 14:
		d.in(d.packet(protocol, d.stranger(), d.ours(protocol), d.r.IntN(3) > 0))
	case 15:
		d.out(d.packet(protocol, d.host(), netip.AddrPortFrom(choose(d.r, hostA, hostB, privateAddress), 80), true))
	case 16:
		d.in(d.packet(protocol, netip.AddrPortFrom(outbound, 5000), d.ours(protocol), true))
	case 17:
		d.answer()
	case 18:
		d.withdraw()
	case 20, 21, 22, 23, 24:
		d.shake()
	case 25, 26, 27, 28:
		d.knock()
	case 29:
		switch d.r.IntN(4) {
		case 0:
			d.move()
		case 1:
			d.crowd()
		}
	case 19:
		d.errorAbout(pair{protocol, d.host(), d.stranger()})
	}
}

// packet makes a packet between the two; asks: as one that begins a flow.
func (d *duel) packet(protocol model.Protocol, from, to netip.AddrPort, asks bool) packets.Packet {
	data := string(make([]byte, d.r.IntN(40)))
	var p packets.Packet
	switch protocol {
	case model.UDP:
		p = packets.NewUDP(from, to, data)
		if d.r.IntN(5) == 0 {
			p.UDP.Checksum = packets.ChecksumZero
		}
	case model.TCP:
		f := packets.SYN
		if !asks {
			f = choose(d.r, packets.SYN|packets.ACK, packets.ACK, packets.ACK, packets.FIN|packets.ACK, packets.RST)
		}
		p = packets.NewTCP(from, to, f, data)
		d.guess(&p, from, to)
		if d.r.IntN(3) == 0 {
			p.TCP.Options = []byte{2, 4, 5, 180}
		}
	default:
		if asks {
			p = packets.NewEcho(from.Addr(), to.Addr(), from.Port(), uint16(d.r.Uint32()))
		} else {
			p = packets.NewEchoReply(from.Addr(), to.Addr(), to.Port(), uint16(d.r.Uint32()))
		}
	}
	p.IPv4.ID, p.IPv4.TOS = uint16(d.r.Uint32()), uint8(d.r.Uint32())
	if d.r.IntN(8) == 0 {
		p.IPv4.Options = []byte{1, 1, 1, 0}
	}
	return p
}

func (d *duel) out(p packets.Packet) {
	if d.r.IntN(20) == 0 && !isOurs(p.IPv4.Destination) {
		p.IPv4.TTL = 1
	}
	d.expect(p, d.dried(false, inside(p)), func() fate { return d.model.fromInside(inside(p)) })
}

func (d *duel) in(p packets.Packet) {
	d.expect(p, d.dried(true, outside(p)), func() fate { return d.model.fromOutside(outside(p), false) })
}

// dried sends a packet, and wants it to end as a dry run of it does. What a client of the pool
// proves is told by packets alone that are sent.
func (d *duel) dried(public bool, p packets.Packet) result {
	d.t.Helper()
	end := d.dryEnd(d.dry, public, p.Bytes())
	got := d.send(public, p.Bytes())
	proves := p.TCP != nil && p.TCP.Flags != packets.SYN
	if end != got.reason && !proves {
		d.t.Fatalf("step %d: %v: %s, and dry %s", d.step, p, got.reason, end)
	}
	return got
}

// expect compares what the data plane did with what the model says.
func (d *duel) expect(p packets.Packet, got result, predict func() fate) {
	d.t.Helper()
	want := predict()
	if got.reason != want.reason {
		d.t.Fatalf("step %d: %v: %s, want %s", d.step, p, got.reason, want.reason)
	}
	if want.packet == nil {
		return
	}
	want.packet.Ethernet.Source = d.macs[want.packet.Ethernet.Destination == packets.RouterMAC]
	if diff := frames.Diff(want.packet.Bytes(), got.frame); diff != "" || got.action != dataplane.Redirect {
		d.t.Fatalf("step %d: %v: %v\n%s", d.step, p, got.action, diff)
	}
}
