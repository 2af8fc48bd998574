package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// toldBack wants the packet dropped for the reason, and its sender, behind the other edge, told by the host.
func (g *gateway) toldBack(r result, pact datapath.Pact, reason model.Reason, icmpType, code uint8, rest uint32) {
	g.t.Helper()
	_, got := g.decapsulated(r.frame)
	if r.reason != reason || r.action != dataplane.Redirect {
		g.t.Fatalf("%v, %s, want %s", r.action, r.reason, reason)
	}
	if got.IPv4.Source != tag(pact.Own) || got.IPv4.Destination != tag(pact.Peer) || got.ICMP == nil ||
		got.ICMP.Type != icmpType || got.ICMP.Code != code || got.ICMP.Rest != rest {
		g.t.Fatalf("told %s", got)
	}
}

// What cannot go on to the host is told of by the way that it came by.
func TestEdgeTellsTheOtherSide(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t, links(1500, 1300))
	client, port := endpoint(proxyA, 40000), endpoint(hostA, 5000)
	fits := filled(udp(client, port), 1272).Change(func(p *packets.Packet) { p.IPv4.DF = true })
	g.leaves(g.fromEdge(a, fits), fits)
	last := func(p packets.Packet) packets.Packet { return p.Change(func(p *packets.Packet) { p.IPv4.TTL = 1 }) }
	g.toldBack(g.fromEdge(a, last(fits)), a, "drop_ttl_expired", 11, 0, 0)
	g.toldBack(g.fromEdge(a, last(udp(client, endpoint(hostA, 5000)))), a, "drop_ttl_expired", 11, 0, 0)
	g.toldBack(g.fromEdge(a, last(tcp(client, endpoint(hostA, 80), packets.SYN))), a, "drop_ttl_expired", 11, 0, 0) // of no session yet
	more := filled(udp(client, port), 1273).Change(func(p *packets.Packet) { p.IPv4.DF = true })
	g.toldBack(g.fromEdge(a, more), a, "drop_too_big", packets.DestinationUnreachable, fragmentationNeeded, 1300)
	divides := filled(udp(client, port), 1273).Change(func(p *packets.Packet) { p.IPv4.DF = false })
	r := g.fromEdge(a, divides)
	if r.action != dataplane.Pass || r.reason != "forwarded_by_stack" {
		t.Errorf("%v, %s, want it left to the kernel", r.action, r.reason)
	}
	says := func(p packets.Packet, size int) packets.Packet { return withTCP(p, mss(uint16(size)), sack, nop, nop) }
	g.leaves(g.fromEdge(a, says(tcp(client, endpoint(hostA, 80), packets.SYN), 1460)), says(tcp(client, endpoint(hostA, 8080), packets.SYN), 1260))
	g.leaves(g.fromEdge(a, says(tcp(endpoint(proxyA, 2), endpoint(hostA, 80), packets.SYN), 536)), says(tcp(endpoint(proxyA, 2), endpoint(hostA, 8080), packets.SYN), 536))
}

// Later fragments have no ports: the pact's addresses are enough for them, in any order.
func TestEdgeFragmentsIn(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	client, port := endpoint(proxyA, 40000), endpoint(hostA, 5000)
	for n, p := range []packets.Packet{filled(udp(client, port), 4000), filled(echo(proxyA, hostA, 7), 3000)} {
		id := uint16(100 + n)
		cut := divided(returned(p, a), id, 1200)
		cut[0], cut[1] = cut[1], cut[0]
		var got []packets.Packet
		for _, piece := range cut {
			got = append(got, g.forwarded(g.send(true, inTunnel(tunnel.Encapsulate(theirs(), piece.Network())))))
		}
		whole := joined(t, got)
		want := p.Change(func(p *packets.Packet) { p.IPv4.TTL--; p.IPv4.DF = false; p.IPv4.ID = id })
		want = want.Between(whole.Ethernet.Source, whole.Ethernet.Destination)
		if diff := frames.Diff(want.Bytes(), whole.Bytes()); diff != "" {
			t.Errorf("%s came out otherwise:\n%s", p, diff)
		}
	}
}

// Marks of congestion cross the tunnel (RFC 6040 section 4.2).
func TestEdgeCongestion(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	for outer := range uint8(4) {
		for inner := range uint8(4) {
			p := udp(endpoint(proxyA, 1), endpoint(hostA, 5000)).Change(func(p *packets.Packet) { p.IPv4.TOS = 0xb8 | inner })
			h := theirs()
			h.TOS = outer
			r := g.send(true, inTunnel(tunnel.Encapsulate(h, returned(p, a).Network())))
			field, passes := tunnel.ECN(outer, inner)
			if !passes {
				g.dropped(r, "drop_edge_malformed")
				continue
			}
			g.leaves(r, p.Change(func(p *packets.Packet) { p.IPv4.TOS = 0xb8 | field }))
		}
	}
}

// Chains see flows between edges as hosts know them, and judge what stands again; bans and closed services end them.
func TestEdgesAreJudged(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	client, port, own := endpoint(proxyA, 40000), endpoint(hostA, 80), endpoint(hostA, 8080)
	out := udp(inA, endpoint(proxyA, 9))
	g.leaves(g.fromEdge(a, tcp(client, port, packets.SYN)), tcp(client, own, packets.SYN))
	g.sends(g.put(out), tagged(out, a))
	g.chained([]nf.Rule{{}}, deny(1,
		nf.Rule{Direction: model.In, Source: netip.PrefixFrom(proxyA, 32), Destination: netip.PrefixFrom(hostA, 32), Protocol: model.TCP, Ports: model.Ports{First: 8080, Last: 8080}},
		nf.Rule{Direction: model.Out, Source: netip.PrefixFrom(hostA, 32), Destination: netip.PrefixFrom(proxyA, 32), Protocol: model.UDP, Ports: model.Ports{First: 9, Last: 9}}))
	g.dropped(g.fromEdge(a, tcp(client, port, packets.ACK)), "drop_denied")
	if r := g.put(out); r.reason != "drop_denied" {
		t.Errorf("%v, %s", r.action, r.reason)
	}
	g.dropped(g.fromEdge(a, tcp(endpoint(proxyA, 7), port, packets.SYN)), "drop_denied")
	g.leaves(g.fromEdge(a, udp(client, endpoint(hostA, 5000))), udp(client, endpoint(hostA, 5000)))
	g.leaves(g.fromEdge(b, tcp(endpoint(proxyB, 7), endpoint(hostB, 80), packets.SYN)), tcp(endpoint(proxyB, 7), endpoint(hostB, 8080), packets.SYN))

	g.policy(g.services...)
	g.leaves(g.fromEdge(a, tcp(client, port, packets.ACK)), tcp(client, own, packets.ACK))
	g.ban(time.Now().Add(time.Hour), netip.PrefixFrom(proxyB, 32))
	g.policy()
	g.dropped(g.fromEdge(a, tcp(client, port, packets.ACK)), "drop_service_closed")
	g.dropped(g.fromEdge(a, tcp(endpoint(proxyA, 8), port, packets.SYN)), "drop_service_closed")
	g.dropped(g.fromEdge(b, tcp(endpoint(proxyB, 7), endpoint(hostB, 80), packets.ACK)), "drop_banned")
}

// Where no neighbour is known the kernel finds it.
func TestEdgeInByTheKernel(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t, strangers)
	p := udp(endpoint(proxyA, 1), endpoint(hostA, 5000))
	r := g.fromEdge(a, p)
	if r.action != dataplane.Pass || r.reason != "forwarded_no_neighbour" {
		t.Fatalf("%v, %s", r.action, r.reason)
	}
	same(g, "what it is left", string(r.packet.Network()), string(p.Network()))
}

// What is for the tunnel's address and no packet of it is the gateway's, or NAT's, as without edges.
func TestTunnelAddressIsTheGateways(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	at := endpoint(publicAddress, 6081)
	for name, p := range map[string]packets.Packet{
		"a probe": packets.NewUDP(server, at, "\x03\xc0\x08\x00and so on"), "TCP": tcp(server, at, packets.SYN),
		"another port": udp(server, endpoint(publicAddress, 53)), "of one octet": packets.NewUDP(server, at, "\x03"),
	} {
		frame := addressed(p).Bytes()
		if r := g.send(true, frame); r.reason != "to_gateway" {
			t.Errorf("%s: %v, %s", name, r.action, r.reason)
		}
	}
	g.dropped(g.put(udp(server, at)), "drop_edge_malformed")
	check(t, g.data.SetEdges(datapath.Edges{}))
	if r := g.fromEdge(a, udp(endpoint(proxyA, 1), endpoint(hostA, 5000))); r.reason != "to_gateway" {
		t.Errorf("without edges: %v, %s", r.action, r.reason)
	}
}
