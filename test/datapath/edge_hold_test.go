package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// A ban of the other edge's own address ends what goes by its link, both ways, until the ban ends.
func TestEdgeLocatorBanned(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	out, in := udp(inA, endpoint(proxyA, 80)), udp(endpoint(proxyA, 80), inA)
	g.sends(g.put(out), tagged(out, a))
	for _, prefix := range []netip.Prefix{netip.PrefixFrom(otherEdge, 32), netip.PrefixFrom(otherEdge, 24).Masked()} {
		g.ban(datapath.Forever, prefix)
		g.dropped(g.fromEdge(a, in), "drop_banned")
		g.refused(g.put(out), out, "drop_no_link", privateAddress, packets.DestinationUnreachable, 1, 0)
		g.in(func() error { return g.data.DeleteBans([]netip.Prefix{prefix}) })
		g.leaves(g.fromEdge(a, in), in)
		g.sends(g.put(out), tagged(out, a))
	}
}

// When the range of proxy addresses goes before the sessions by them do, nothing of these leaves outside the tunnel.
func TestEdgeSessionsOutliveTheRange(t *testing.T) {
	t.Parallel()
	for name, edges := range map[string]datapath.Edges{
		"no edges":       {},
		"another prefix": {Proxy: netip.MustParsePrefix("172.30.0.0/16"), Address: publicAddress, Port: 6081},
	} {
		g, a, _ := newEdge(t)
		to := endpoint(proxyA, 80)
		out, syn := udp(inA, to), tcp(inA, to, packets.SYN)
		g.sends(g.put(out), tagged(out, a))
		g.sends(g.put(syn), tagged(syn, a))
		g.in(func() error {
			check(t, g.data.EndPacts(a.Own))
			return g.data.SetEdges(edges)
		})
		t.Log(name)
		for _, p := range []packets.Packet{out, syn, tcp(inA, to, packets.ACK)} {
			g.dropped(g.put(p), "drop_no_pact")
		}
		g.dropped(g.put(packets.NewICMPError(hostA, proxyA, packets.DestinationUnreachable, portUnreachable, 0, udp(to, inA), 8)), "drop_no_session")
		g.sweep()
		g.count(0)
		g.mapped(out)
	}
}

// Sessions are of both tags: those of a pact with another peer tag are not the next one's, of the same number.
func TestEdgeSessionsAreOfBothTags(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	to, client, port, own := endpoint(proxyA, 80), endpoint(proxyA, 40000), endpoint(hostA, 80), endpoint(hostA, 8080)
	syn, ack := tcp(inA, to, packets.SYN), tcp(inA, to, packets.ACK)
	g.sends(g.put(syn), tagged(syn, a))
	g.leaves(g.fromEdge(a, tcp(client, port, packets.SYN)), tcp(client, own, packets.SYN))
	next := a
	next.Peer ^= 1 << 20
	g.in(func() error {
		check(t, g.data.EndPacts(a.Own))
		return g.data.PutPact(next)
	})
	g.dropped(g.put(ack), "drop_not_syn")
	g.dropped(g.fromEdge(next, tcp(client, port, packets.ACK)), "drop_not_syn")
	g.dropped(g.fromEdge(next, udp(to, inA)), "drop_pact_service")
	g.dropped(g.fromEdge(next, packets.NewICMPError(proxyA, hostA, packets.TimeExceeded, 0, 0, tagged(syn, next), 8)), "drop_no_session")
	g.sweep()
	g.count(0)
	g.sends(g.put(syn), tagged(syn, next))
	g.sends(g.put(ack), tagged(ack, next))
}

// The tunnel leaves by a public interface, or not at all.
func TestEdgeLeavesOutside(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	p := udp(inA, endpoint(proxyA, 80))
	g.sends(g.put(p), tagged(p, a))
	inside := edgeLink
	inside.Remote = hostB
	g.in(func() error { return g.data.PutEdgeLink(inside) })
	if r := g.put(p); r.reason != "drop_no_route" {
		t.Errorf("%v, %s, want it to have no way", r.action, r.reason)
	}
	g.in(func() error { return g.data.PutEdgeLink(edgeLink) })
	g.sends(g.put(p), tagged(p, a))
}
