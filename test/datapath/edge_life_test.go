package datapath

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Without a daemon pacts go on, for flows that are new, too, and the next daemon finds them as they are.
func TestEdgesOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	client, port, own := endpoint(proxyA, 40000), endpoint(hostA, 80), endpoint(hostA, 8080)
	g.leaves(g.fromEdge(a, tcp(client, port, packets.SYN)), tcp(client, own, packets.SYN))
	before := pactsIn(g)
	g.reopen()
	if after := pactsIn(g); len(after) != 2 || after[0].Own != before[0].Own || after[1].Own != b.Own || after[0].Sessions != 1 {
		t.Fatalf("pacts %+v, before %+v", after, before)
	}
	g.sends(g.put(tcp(own, client, synAck)), tagged(tcp(port, client, synAck), a))
	g.leaves(g.fromEdge(a, udp(client, endpoint(hostA, 5000))), udp(client, endpoint(hostA, 5000)))
	g.sends(g.put(udp(inB, endpoint(proxyB, 9))), tagged(udp(inB, endpoint(proxyB, 9)), b))
	check(t, g.data.EndPacts(a.Own))
	g.dropped(g.fromEdge(a, tcp(client, port, packets.ACK)), "drop_edge_tag")
}

// Where the proxy addresses go, their sessions end at once: a packet to one leaves by no session of it, which would send it on as it is.
func TestSessionsOfProxyAddressesThatGo(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	out := udp(inA, endpoint(proxyA, 9))
	g.sends(g.put(out), tagged(out, a))
	was := must(g.data.Edges())(t)
	if want := (datapath.Edges{Proxy: proxies, Address: publicAddress, Port: 6081}); was != want {
		t.Errorf("edges %+v, want %+v", was, want)
	}
	check(t, g.data.EndPacts(a.Own, b.Own))
	check(t, g.data.SetEdges(datapath.Edges{}))
	if list := g.sessions(); len(list) > 0 {
		t.Errorf("sessions %+v", list)
	}
}

func pactsIn(g *gateway) (list []datapath.Pact) {
	check(g.t, g.data.Pacts(func(p datapath.Pact) bool { list = append(list, p); return true }))
	return list
}

// When a pact has ended, or its lease has, nothing goes by it, and its sessions end; the next with its number has none of them.
func TestPactsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*gateway, datapath.Pact) error{
		"by the daemon": func(g *gateway, p datapath.Pact) error { return g.data.EndPacts(p.Own) },
		"by its lease": func(g *gateway, p datapath.Pact) error {
			p.Until = datapath.Now().Add(-time.Second)
			return g.data.ChangePact(p)
		},
	} {
		g, a, _ := newEdge(t)
		client, port, own := endpoint(proxyA, 40000), endpoint(hostA, 80), endpoint(hostA, 8080)
		out := udp(inA, endpoint(proxyA, 9))
		g.leaves(g.fromEdge(a, tcp(client, port, packets.SYN)), tcp(client, own, packets.SYN))
		g.sends(g.put(out), tagged(out, a))
		g.count(2)
		check(t, end(g, a))
		for _, p := range []packets.Packet{tcp(client, port, packets.SYN), tcp(client, port, packets.ACK), udp(endpoint(proxyA, 9), inA)} {
			g.dropped(g.fromEdge(a, p), "drop_edge_tag")
		}
		for _, p := range []packets.Packet{out, tcp(own, client, synAck)} {
			g.refused(g.put(p), p, "drop_no_pact", privateAddress, packets.DestinationUnreachable, 1, 0)
		}
		check(t, g.data.EndPacts(a.Own))
		next := a
		next.Own, next.Peer = a.Own+1<<16, a.Peer+1<<16
		check(t, g.data.PutPact(next))
		g.dropped(g.fromEdge(a, tcp(client, port, packets.ACK)), "drop_edge_tag")
		g.dropped(g.fromEdge(next, tcp(client, port, packets.ACK)), "drop_not_syn")
		g.leaves(g.fromEdge(next, tcp(client, port, packets.SYN)), tcp(client, own, packets.SYN))
		g.sweep() // ends the older of out
		list := g.sessions()
		if len(list) != 1 || list[0].Origin != "edge_in" {
			t.Fatalf("%s: sessions %v", name, list)
		}
		g.sends(g.put(out), tagged(out, next))
	}
}

// Keys change while packets are under way: two are good to receive with, and the last to send with.
func TestEdgeKeysChange(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	p := udp(endpoint(proxyA, 1), endpoint(hostA, 5000))
	by := func(epoch uint8, key [16]byte) result {
		h := theirs()
		h.Epoch, h.Key = epoch, key
		return g.send(true, inTunnel(tunnel.Encapsulate(h, returned(p, a).Network())))
	}
	next, last := [16]byte{4}, [16]byte{5}
	check(t, g.data.PutEdgeKey(edgeLink.Number, false, epochIn+1, next))
	g.leaves(by(epochIn, keyIn), p)
	g.leaves(by(epochIn+1, next), p)
	check(t, g.data.PutEdgeKey(edgeLink.Number, false, epochIn+2, last))
	g.dropped(by(epochIn, keyIn), "drop_edge_epoch")
	g.dropped(by(epochIn+2, keyIn), "drop_edge_forged")
	g.leaves(by(epochIn+1, next), p)
	g.leaves(by(epochIn+2, last), p)
	check(t, g.data.PutEdgeLink(edgeLink)) // another MTU, say
	g.leaves(by(epochIn+2, last), p)
	other := edgeLink
	other.Here ^= 1 << 20 // the same number, to another edge
	check(t, g.data.PutEdgeLink(other))
	g.dropped(by(epochIn+2, last), "drop_edge_link")
	out := udp(inA, endpoint(proxyA, 1))
	g.refused(g.put(out), out, "drop_no_link", privateAddress, packets.DestinationUnreachable, 1, 0)
}

// The other edge has of a pact what was agreed, and no more.
func TestPactLimits(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	a.Most = 2
	b.Rate = 3
	check(t, g.data.ChangePact(a))
	check(t, g.data.ChangePact(b))
	flow := func(proxy, host netip.Addr, n int) packets.Packet {
		return udp(endpoint(proxy, uint16(n)), endpoint(host, 5000))
	}
	for n := 1; n <= 2; n++ {
		g.leaves(g.fromEdge(a, flow(proxyA, hostA, n)), flow(proxyA, hostA, n))
	}
	g.dropped(g.fromEdge(a, flow(proxyA, hostA, 3)), "drop_pact_sessions")
	g.leaves(g.fromEdge(a, flow(proxyA, hostA, 1)), flow(proxyA, hostA, 1)) // one that stands
	g.sends(g.put(udp(inA, endpoint(proxyA, 4))), tagged(udp(inA, endpoint(proxyA, 4)), a))
	passed := 0
	for n := 1; n <= 20; n++ { // in one second, or two
		if r := g.fromEdge(b, flow(proxyB, hostB, n)); r.reason == "forwarded" {
			passed++
		} else {
			g.dropped(r, "drop_pact_sessions")
		}
	}
	if passed < 3 || passed > 6 {
		t.Errorf("%d new sessions, of 3 a second", passed)
	}
	_ = must(g.data.EndSessions(func(s datapath.Session) bool { return s.Private.Addr() == hostA && s.Origin == "edge_in" }))(t)
	g.leaves(g.fromEdge(a, flow(proxyA, hostA, 3)), flow(proxyA, hostA, 3))
}

// No number beyond a table is taken, nor a pact that its record has no room for; the last of each is.
func TestEdgeTablesAreBounded(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t, func(s *setup) { s.Pacts, s.Links = 16, 8 })
	for number, fits := range map[uint16]bool{0: false, 16: true, 17: false, 65535: false} {
		if err := g.data.PutPact(pactOf(number, hostB, netip.AddrFrom4([4]byte{172, 31, 2, byte(number)}))); (err == nil) != fits {
			t.Errorf("pact %d: %v", number, err)
		}
	}
	for number, fits := range map[uint32]bool{0: false, 8: true, 9: false, 4095: false} {
		l := edgeLink
		l.Number, l.Here = number, 0x555000|number
		if err := g.data.PutEdgeLink(l); (err == nil) != fits {
			t.Errorf("link %d: %v", number, err)
		}
	}
	a.Ways = append(a.Ways, a.Ways...)
	check(t, g.data.ChangePact(a))
	a.Ways = append(a.Ways, a.Ways[0])
	if g.data.ChangePact(a) == nil {
		t.Error("a pact has more ways than its record")
	}
	beyond := pactOf(3, hostB, remote)
	if g.data.PutPact(beyond) == nil {
		t.Error("a pact has a proxy address that is none")
	}
}
