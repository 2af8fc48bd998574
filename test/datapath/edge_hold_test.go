package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
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

// When the range of proxy addresses goes, packets of sessions by them do not leave untranslated.
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
		g.dropped(g.put(packets.NewICMPError(hostA, proxyA, packets.DestinationUnreachable, portUnreachable, 0, udp(to, inA), 8)), "drop_no_session")
		for _, p := range []packets.Packet{out, syn, tcp(inA, to, packets.ACK)} {
			r := g.put(p)
			if r.reason == "drop_no_pact" {
				continue // of a session that is still to end
			}
			if source := netip.AddrFrom4([4]byte(r.frame[26:])); !r.reason.IsDrop() && source != outbound {
				t.Errorf("%s: %v, %s from %s", p, r.action, r.reason, source)
			}
		}
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

// Of fragments but the first nobody can tell the session: they pass where their pact lets flows of their direction open, or
// had packets lately.
func TestEdgeFragmentsAreOfThePact(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	a.In, b.Out = false, false
	check(t, g.data.ChangePact(a))
	check(t, g.data.ChangePact(b))
	piece := func(p packets.Packet) packets.Packet { return divided(filled(p, 1600), 9, 1008)[1] }
	outA, backA := udp(inA, endpoint(proxyA, 53)), udp(endpoint(proxyA, 53), inA)
	intoB, backB := udp(endpoint(proxyB, 53), endpoint(hostB, 5000)), udp(endpoint(hostB, 5000), endpoint(proxyB, 53))
	g.dropped(g.fromEdge(a, piece(backA)), "drop_pact_direction")
	g.dropped(g.put(piece(backB)), "drop_pact_direction")
	g.sends(g.put(piece(outA)), tagged(piece(outA), a))
	g.leaves(g.fromEdge(b, piece(intoB)), piece(intoB))
	g.dropped(g.fromEdge(a, piece(backA)), "drop_pact_direction") // fragments open nothing
	g.dropped(g.put(piece(backB)), "drop_pact_direction")
	g.sends(g.put(outA), tagged(outA, a))
	g.leaves(g.fromEdge(b, intoB), intoB)
	g.leaves(g.fromEdge(a, piece(backA)), piece(backA))
	g.sends(g.put(piece(backB)), tagged(piece(backB), b))

	g.ban(datapath.Forever, netip.PrefixFrom(proxyA, 32))
	g.dropped(g.fromEdge(a, piece(backA)), "drop_banned")
	g.dropped(g.put(piece(outA)), "drop_banned")
	last := tcp(endpoint(proxyA, 1), endpoint(hostA, 80), packets.SYN).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
	a.In = true
	check(t, g.data.ChangePact(a))
	g.dropped(g.fromEdge(a, last), "drop_banned") // and is not told
	about := func(from netip.Addr) packets.Packet {
		return packets.NewICMPError(from, proxyA, packets.DestinationUnreachable, portUnreachable, 0, backA, 8)
	}
	g.dropped(g.put(about(hostA)), "drop_banned")
	g.in(func() error { return g.data.DeleteBans([]netip.Prefix{netip.PrefixFrom(proxyA, 32)}) })
	g.dropped(g.fromInside(about(remote)), "drop_spoofed_source")
}

// What is refused keeps no pact in use.
func TestEdgeRefusedIsNoUse(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	client := endpoint(proxyA, 40000)
	g.dropped(g.fromEdge(a, tcp(client, endpoint(hostA, 81), packets.SYN)), "drop_pact_service")
	if p := pactsIn(g)[0]; p.Used != 0 {
		t.Errorf("used at %v", p.Used)
	}
	g.leaves(g.fromEdge(a, tcp(client, endpoint(hostA, 80), packets.SYN)), tcp(client, endpoint(hostA, 8080), packets.SYN))
	if p := pactsIn(g)[0]; p.Used == 0 {
		t.Error("not used")
	}
}

// A proxy address stands for one pact's remote host.
func TestProxyIsOfOnePact(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	other := pactOf(3, hostB, proxyA)
	if g.data.PutPact(other) == nil {
		t.Error("two pacts have one proxy address")
	}
	p := udp(inA, endpoint(proxyA, 80))
	g.sends(g.put(p), tagged(p, a))
	check(t, g.data.EndPacts(a.Own))
	check(t, g.data.PutPact(other))
	p = udp(inB, endpoint(proxyA, 80))
	g.sends(g.put(p), tagged(p, other))
}

// Errors through the tunnel have a budget: what one proxy address is told in a tick.
func TestEdgeTellsBackWithinBudget(t *testing.T) {
	t.Parallel()
	const told, more = 64, 40
	g, a, _ := newEdge(t)
	last := tcp(endpoint(proxyA, 1), endpoint(hostA, 80), packets.SYN).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
	frame := inTunnel(tunnel.Encapsulate(theirs(), returned(last, a).Network()))
	var sent uint64
	g.inOneTick(func() {
		before := g.counters()["forwarded"]
		g.in(func() error {
			for range told + more {
				if _, _, err := g.inject(true, g.public, frame); err != nil {
					return err
				}
			}
			return nil
		})
		sent = g.counters()["forwarded"] - before
	})
	same(g, "errors in a tick", sent, told)
}

// A sample of what is refused before it is believed has the addresses and ports of its outer header.
func TestEdgeRefusedIsSampled(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	drops := g.drops()
	h := theirs()
	h.Key[0] ^= 1
	g.dropped(g.send(true, inTunnel(tunnel.Encapsulate(h, returned(udp(endpoint(proxyA, 1), inA), a).Network()))), "drop_edge_forged")
	want := model.Tuple{Protocol: model.UDP, Source: netip.AddrPortFrom(otherEdge, h.SourcePort), Destination: endpoint(publicAddress, 6081)}
	select {
	case e := <-drops:
		same(g, "sampled", e.Tuple, want)
	case <-time.After(time.Minute):
		t.Error("no sample")
	}
}
