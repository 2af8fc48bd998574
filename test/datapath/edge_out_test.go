package datapath

import (
	"encoding/binary"
	"net/netip"
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
