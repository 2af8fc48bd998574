package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

// Routers on the paths: outside, and inside behind hostA.
var (
	hop       = netip.MustParseAddr("192.0.2.1")
	insideHop = netip.MustParseAddr("10.0.0.200")
)

const (
	portUnreachable     = 3
	fragmentationNeeded = 4
	prohibited          = 13
)

// unreachable is an ICMP error of type 3 about original, with eight octets of
// its IP payload (all for keep -1).
func unreachable(from netip.Addr, code uint8, rest uint32, original packets.Packet, keep int) packets.Packet {
	return packets.NewICMPError(from, original.IPv4.Source, packets.DestinationUnreachable, code, rest, original, keep)
}

func TestRFC4787_REQ12_ICMPKeepsMapping(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for code := range uint8(16) {
		g.forwarded(g.put(unreachable(remote, code, 1400, udp(out, server), 8)))
	}
	g.forwarded(g.put(packets.NewICMPError(hop, out.Addr(), packets.TimeExceeded, 0, 0, udp(out, server), 8)))
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.count(1)
}

func TestRFC4787_REQ12a_ICMPFromAnySource(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for _, from := range []netip.Addr{remote, hop, router, never} {
		g.leaves(g.put(unreachable(from, 1, 0, udp(out, server), 8)), unreachable2(from, hostA, 1, udp(inA, server), 8))
	}
}

// unreachable2 is unreachable to a receiver that is not the quoted source.
func unreachable2(from, to netip.Addr, code uint8, original packets.Packet, keep int) packets.Packet {
	return packets.NewICMPError(from, to, packets.DestinationUnreachable, code, 0, original, keep)
}

func TestRFC4787_REQ12b_DestinationUnreachable(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	// Another host has the inside port as outside port.
	g.mapped(udp(endpoint(hostB, 40000), server))
	out := g.mapped(udp(inA, server))
	if out.Port() == inA.Port() {
		t.Fatal("the port was kept: this test shows little")
	}
	for _, keep := range []int{8, -1} {
		g.leaves(g.put(unreachable(remote, portUnreachable, 0, udp(out, server), keep)),
			unreachable(remote, portUnreachable, 0, udp(inA, server), keep))
	}
}

func big(from, to netip.AddrPort, size int, df bool) packets.Packet {
	p := packets.NewUDP(from, to, string(make([]byte, size-28)))
	p.IPv4.DF = df
	return p
}

func TestRFC4787_REQ13_FragmentationNeeded(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.in(func() error { return setMTU("eth0", 1400) })
	g.data.RoutesChanged()
	g.forwarded(g.put(big(inA, server, 1400, true)))
	p := big(inA, server, 1401, true)
	g.refused(g.put(p), p, "drop_too_big", privateAddress, packets.DestinationUnreachable, fragmentationNeeded, 1400)
}

// A smaller link inside is told to senders outside, too: their paths need it.
func TestFragmentationNeededToOutside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.in(func() error { return setMTU("eth1", 1300) })
	g.data.RoutesChanged()
	out := g.mapped(udp(inA, server))
	p := big(server, out, 1301, true)
	g.refused(g.put(p), p, "drop_too_big", publicAddress, packets.DestinationUnreachable, fragmentationNeeded, 1300)
}

// What has no DF goes translated to the kernel, which fragments it.
func TestRFC4787_REQ13a_Fragmented(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.in(func() error { return setMTU("eth0", 1400) })
	g.data.RoutesChanged()
	p := addressed(big(inA, server, 1500, false))
	r := g.put(p)
	want := big(endpoint(outbound, 40000), server, 1500, false).Between(p.Ethernet.Source, p.Ethernet.Destination)
	want.IPv4.ID = r.packet.IPv4.ID
	g.passed(r, "forwarded_by_stack", want.Bytes())

	seen := must(g.outside.Frames("eth0"))(t)
	defer seen.Close()
	wire := must(g.inside.Frames("eth0"))(t)
	defer wire.Close()
	copy(p.Ethernet.Destination[:], must(g.namespace.MAC("eth1"))(t))
	check(t, wire.Send(p.Bytes()))
	var offsets []uint16
	octets := 0
	for deadline := time.Now().Add(5 * time.Second); octets < 1480; {
		f, err := packets.Parse(must(seen.Receive(deadline))(t))
		if err != nil || f.IPv4 == nil || f.IPv4.ID != want.IPv4.ID+1 {
			continue
		}
		same(g, "source of a fragment", f.IPv4.Source, outbound)
		offsets = append(offsets, f.IPv4.FragmentOffset)
		octets += len(f.Network()) - 20
	}
	same(g, "fragments", len(offsets), 2)
	same(g, "offset of the first", offsets[0], 0)
}

// Fragments of nobody's packets are held as long as there is room, of who has a session alone, and
// hurt nothing else.
func TestRFC4787_REQ14a_FragmentFlood(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for n := range 2000 {
		from := remote
		if n%2 == 0 {
			from = nobody
		}
		pieces := big(endpoint(from, uint16(1024+n)), out, 200, false).Change(func(p *packets.Packet) { p.IPv4.ID = uint16(n) }).Fragments(64)
		r := g.put(pieces[1+n%(len(pieces)-1)])
		if r.action != dataplane.Drop || r.reason != "drop_fragment" && (r.reason != "held_fragment" || from == nobody) {
			t.Fatalf("a fragment from %s: %v, %s", from, r.action, r.reason)
		}
	}
	if held := g.held(); held != 32 {
		t.Errorf("%d fragments are held: want the sender's 32 slots used", held)
	}
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	g.count(1)
}
