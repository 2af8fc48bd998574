package datapath

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// tag is one as an address.
func tag(t uint32) netip.Addr { return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, t))) }

// tagged is a packet from a pact's host as the other edge sees it.
func tagged(p packets.Packet, pact datapath.Pact) packets.Packet {
	return p.Change(func(p *packets.Packet) { p.IPv4.Source, p.IPv4.Destination = tag(pact.Own), tag(pact.Peer) })
}

// tunnelled wants the packet sent to the other edge, and returns what is in it.
func (g *gateway) tunnelled(r result) (tunnel.Header, packets.Packet) {
	g.t.Helper()
	if r.action != dataplane.Redirect || r.reason != "forwarded" {
		g.t.Fatalf("%v, %s, want it forwarded", r.action, r.reason)
	}
	return g.decapsulated(r.frame)
}

// decapsulated wants the frame to be for the other edge, by the router.
func (g *gateway) decapsulated(frame []byte) (tunnel.Header, packets.Packet) {
	g.t.Helper()
	if len(frame) < 14 || packets.MAC(frame[:6]) != packets.RouterMAC || binary.BigEndian.Uint16(frame[12:]) != packets.TypeIPv4 {
		g.t.Fatalf("% x, want a packet to the router", frame[:min(len(frame), 14)])
	}
	h, inner, err := tunnel.Decapsulate(frame[14:])
	check(g.t, err)
	if h.Local != publicAddress || h.Remote != otherEdge || h.VNI != edgeLink.There || h.Epoch != epochOut || h.SourcePort < 49152 {
		g.t.Fatalf("header %+v", h)
	}
	if want := tunnel.Authenticator(keyOut, edgeLink.There, inner); h.Authenticator != want {
		g.t.Fatalf("authenticator %016x, want %016x of % x", h.Authenticator, want, inner[:min(len(inner), 40)])
	}
	p, err := packets.ParseNetwork(packets.TypeIPv4, inner, false)
	check(g.t, err)
	return h, p
}

// sends wants the packet sent to the other edge, as want with one hop less.
func (g *gateway) sends(r result, want packets.Packet) tunnel.Header {
	g.t.Helper()
	h, got := g.tunnelled(r)
	want = want.Change(func(p *packets.Packet) { p.IPv4.TTL-- })
	if diff := frames.Diff(want.Bytes(), got.Between(want.Ethernet.Source, want.Ethernet.Destination).Bytes()); diff != "" {
		g.t.Fatalf("%s went into the tunnel otherwise:\n%s", want, diff)
	}
	return h
}

// A packet to a proxy address leaves under the pact's tags, behind the link's header.
func TestEdgeOut(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	to := endpoint(proxyA, 80)
	most := int(edgeLink.MTU) - 28
	sent := 0
	for name, p := range map[string]packets.Packet{
		"TCP":                tcp(inA, to, packets.SYN),
		"UDP":                udp(inA, to),
		"UDP of an odd size": packets.NewUDP(inA, to, "odd"),
		"UDP of no octets":   packets.NewUDP(inA, to, ""),
		"UDP without a sum":  udp(inA, to).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }),
		"an echo":            echo(hostA, proxyA, 7),
		"congestion told":    udp(inA, to).Change(func(p *packets.Packet) { p.IPv4.TOS = 0xb8 | 3 }),
		"IP options":         udp(inA, to).Change(withOptions(otherOptions["router alert"])),
		"GRE":                basics["GRE"](hostA, proxyA),
		"the most that fits": filled(udp(inA, to), most),
		"not to break up":    filled(udp(inA, to), most).Change(func(p *packets.Packet) { p.IPv4.DF = true }),
	} {
		t.Log(name)
		first := g.sends(g.put(p), tagged(p, a))
		if p.TCP != nil {
			p = tcp(inA, to, packets.ACK)
		}
		if again := g.sends(g.put(p), tagged(p, a)); again.SourcePort != first.SourcePort {
			t.Errorf("by UDP port %d, then %d", first.SourcePort, again.SourcePort)
		}
		if first.TOS != p.IPv4.TOS&3 {
			t.Errorf("TOS %#x of a packet with %#x", first.TOS, p.IPv4.TOS)
		}
		sent += 2
	}
	p := tcp(inB, endpoint(proxyB, 443), packets.SYN)
	g.sends(g.put(p), tagged(p, b))
	counts := must(g.data.EdgeCounts())(t)[edgeLink.Number]
	same(g, "packets out and in", counts.Packets, [2]uint64{uint64(sent + 1), 0})
}

// Line 3: a proxy address is of one host alone.
func TestProxyOfAnother(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	p := udp(inA, endpoint(proxyA, 80))
	g.dropped(g.put(udp(inB, endpoint(proxyA, 80))), "drop_proxy_foreign")
	g.dropped(g.put(echo(hostB, proxyA, 1)), "drop_proxy_foreign")
	g.sends(g.put(p), tagged(p, a))
	g.dropped(g.put(udp(endpoint(hostB, inA.Port()), endpoint(proxyA, 80))), "drop_proxy_foreign")
	same(g, "sessions", len(g.sessions()), 1)
}

// edged has a gateway that there is the same link and pacts as newEdge.
func (g *gateway) edged() (a, b datapath.Pact) {
	g.t.Helper()
	a, b = pactOf(1, hostA, proxyA), pactOf(2, hostB, proxyB)
	g.in(func() error {
		check(g.t, g.data.SetEdges(datapath.Edges{Proxy: proxies, Address: publicAddress, Port: tunnel.GENEVEPort}))
		check(g.t, g.data.PutEdgeLink(edgeLink))
		check(g.t, g.data.PutEdgeKey(edgeLink.Number, true, epochOut, keyOut))
		check(g.t, g.data.PutEdgeKey(edgeLink.Number, false, epochIn, keyIn))
		check(g.t, g.data.PutPact(a))
		return g.data.PutPact(b)
	})
	return a, b
}

// What is not yet single packets with whole checksums becomes that, each with a header and an authenticator of its own.
func TestEdgeOutOfSocketBuffers(t *testing.T) {
	t.Parallel()
	for name, bare := range allKinds {
		t.Run(name, func(t *testing.T) { t.Parallel(); edgeOutOfSocketBuffers(t, bare) })
	}
}

func edgeOutOfSocketBuffers(t *testing.T, bare kinds) {
	g, links := tapped(t, bare)
	a, _ := g.edged()
	to := endpoint(proxyA, 80)
	long, some := strings.Repeat("long ", 1300), strings.Repeat("x", 1200)
	segment := func(data string, f packets.Flags) packets.Packet {
		return packets.NewTCP(inA, to, f, data).Change(func(p *packets.Packet) { p.IPv4.DF = true })
	}
	options := func(p packets.Packet) packets.Packet {
		return p.Change(withOptions(otherOptions["timestamp that holds such octets"]))
	}
	g.tunnels(links, a, buffer{packet: segment("", packets.SYN)})
	for name, s := range map[string]buffer{
		"a datagram":                          {packet: udp(inA, to)},
		"with its sum left":                   left(udp(inA, to)),
		"of odd length":                       left(packets.NewUDP(inA, to, "odd")),
		"a segment with its sum left":         left(segment("data", packets.ACK)),
		"behind options":                      left(options(segment("data", packets.ACK))),
		"an aggregate":                        cut(segment(long, packets.ACK), 1000),
		"an aggregate of datagrams":           cut(packets.NewUDP(inA, to, long), 1000),
		"an aggregate behind options":         cut(options(segment(long, packets.ACK)), 1000),
		"14 octets in one piece":              pieces(buffer{packet: segment(some, packets.ACK)}, 14),
		"a header cut in two":                 pieces(buffer{packet: segment(some, packets.ACK)}, 30),
		"an echo":                             {packet: echo(hostA, proxyA, 7)},
		"an aggregate in pieces":              pieces(cut(segment(strings.Repeat(long, 6), packets.ACK), 1300), 54),
		"an aggregate of datagrams in pieces": pieces(cut(packets.NewUDP(inA, to, strings.Repeat(long, 6)), 1300), 42),
	} {
		t.Run(name, func(t *testing.T) {
			g := *g
			g.t = t
			g.tunnels(links, a, s)
		})
	}
}

// tunnels wants what a packet or aggregate is on the wire sent to the other edge, in this order.
func (g *gateway) tunnels(links taps, pact datapath.Pact, s buffer) {
	g.t.Helper()
	before := g.counters()
	check(g.t, links[false].send(s.linkHeader, addressed(s.packet).Bytes()))
	payload, size := s.packet.Payload, int(s.segmentSize)
	if size == 0 {
		size = max(len(payload), 1)
	}
	for at := 0; at == 0 || at < len(payload); at += size {
		h, frame := g.next(links[true])
		if frame == nil {
			g.t.Fatalf("what begins with octet %d of %s is missing: %v", at, s.packet, gained(before, g.counters()))
		}
		if h.leftSum || h.aggregate != noAggregate {
			g.t.Fatalf("%+v: not a single packet with its checksum", h)
		}
		if packets.MAC(frame[:6]) == (packets.MAC{}) { // of a tun
			copy(frame, packets.RouterMAC[:])
		}
		_, got := g.decapsulated(frame)
		if !bytes.Equal(got.Payload, payload[at:min(at+size, len(payload))]) {
			g.t.Fatalf("octets %d on of %s are others: %s", at, s.packet, got)
		}
		want := tagged(s.packet, pact)
		if got.IPv4.Source != want.IPv4.Source || got.IPv4.Destination != want.IPv4.Destination || got.IPv4.TTL != want.IPv4.TTL-1 ||
			got.IPv4.Checksum != packets.ChecksumValid || !whole(got) {
			g.t.Fatalf("%s became %s", s.packet, got)
		}
	}
	if _, more := g.next(links[true]); more != nil {
		g.t.Fatalf("more than %s: % x", s.packet, more[:min(len(more), 80)])
	}
}

// whole says whether a packet's checksum is right.
func whole(p packets.Packet) bool {
	switch {
	case p.TCP != nil:
		return p.TCP.Checksum == packets.ChecksumValid
	case p.UDP != nil:
		return p.UDP.Checksum == packets.ChecksumValid
	}
	return p.ICMP.Checksum == packets.ChecksumValid
}
