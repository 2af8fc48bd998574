package datapath

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/test/dataplane"
)

// A host is told why a packet of its does not reach the other edge.
func TestEdgeOutRefuses(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t)
	const hostUnreachable = 1
	p := udp(inA, endpoint(proxyA, 80))
	refused := func(p packets.Packet, reason model.Reason, code uint8) {
		t.Helper()
		g.refused(g.put(p), p, reason, privateAddress, packets.DestinationUnreachable, code, 0)
	}
	g.sends(g.put(p), tagged(p, a))
	g.dropped(g.put(tcp(inA, endpoint(proxyA, 80), packets.ACK)), "drop_not_syn")
	b.Out = false
	g.in(func() error { return g.data.ChangePact(b) })
	refused(udp(inB, endpoint(proxyB, 80)), "drop_pact_direction", prohibited)

	last := p.Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })
	for _, p := range []packets.Packet{last, echo(hostA, proxyA, 1).Change(func(p *packets.Packet) { p.IPv4.TTL = 1 })} {
		g.refused(g.put(p), p, "drop_ttl_expired", privateAddress, packets.TimeExceeded, 0, 0)
	}
	g.chained([]nf.Rule{{Direction: model.Out}}, deny(1, nf.Rule{Protocol: model.UDP, Ports: model.Ports{First: 80, Last: 80}}))
	g.denied(p)
	g.denied(udp(inA, endpoint(proxyA, 80)))
	other := udp(inA, endpoint(proxyA, 81))
	g.sends(g.put(other), tagged(other, a))

	banned := edgeLink
	banned.Banned = true
	g.in(func() error { return g.data.PutEdgeLink(banned) })
	refused(other, "drop_no_link", hostUnreachable)
	g.in(func() error { return g.data.PutEdgeLink(edgeLink) })
	g.sends(g.put(other), tagged(other, a))
	g.in(func() error { return g.data.EndEdgeLink(edgeLink.Number) })
	refused(other, "drop_no_link", hostUnreachable)

	a.Until = datapath.Now().Add(-time.Second)
	g.in(func() error { return g.data.ChangePact(a) })
	refused(other, "drop_no_pact", hostUnreachable)
	g.in(func() error { return g.data.EndPacts(b.Own) })
	refused(udp(inB, endpoint(proxyB, 80)), "drop_no_pact", hostUnreachable)
}

// A session ends with its pact: the next one of the same host and proxy address has sessions of its own.
func TestEdgeSessionsAreOfAPact(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	to := endpoint(proxyA, 80)
	g.sends(g.put(tcp(inA, to, packets.SYN)), tagged(tcp(inA, to, packets.SYN), a))
	g.sends(g.put(udp(inA, to)), tagged(udp(inA, to), a))
	next := a
	next.Own, next.Peer = a.Own+1<<16, 0x0100007f
	g.in(func() error {
		check(t, g.data.EndPacts(a.Own))
		return g.data.PutPact(next)
	})
	g.dropped(g.put(tcp(inA, to, packets.ACK)), "drop_not_syn")
	g.sends(g.put(udp(inA, to)), tagged(udp(inA, to), next))
	g.sends(g.put(tcp(inA, to, packets.SYN)), tagged(tcp(inA, to, packets.SYN), next))
	g.sends(g.put(tcp(inA, to, packets.ACK)), tagged(tcp(inA, to, packets.ACK), next))
	g.sweep()
	g.count(2)
}

// What is too long for the link is refused with what fits, whether it may be broken up or not; SYNs ask for no more.
func TestEdgeTooBig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		public int // MTU of the link to the router
		most   int // octets of an inner packet
	}{"the path": {1500, int(edgeLink.MTU)}, "the next hop": {1380, 1380 - 48}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, a, _ := newEdge(t, links(c.public, 1500))
			to := endpoint(proxyA, 80)
			for _, df := range []bool{true, false} {
				fits := filled(udp(inA, to), c.most-28).Change(func(p *packets.Packet) { p.IPv4.DF = df })
				g.sends(g.put(fits), tagged(fits, a))
				more := filled(udp(inA, to), c.most-27).Change(func(p *packets.Packet) { p.IPv4.DF = df })
				g.refused(g.put(more), more, "drop_too_big", privateAddress, packets.DestinationUnreachable, fragmentationNeeded, uint32(c.most))
			}
			says := func(p packets.Packet, size int) packets.Packet { return withTCP(p, mss(uint16(size)), sack, nop, nop) }
			syn := tcp(inA, to, packets.SYN)
			g.sends(g.put(says(syn, 1460)), tagged(says(syn, c.most-40), a))
			g.sends(g.put(says(syn, 536)), tagged(says(syn, 536), a))
		})
	}
}

// Later fragments have no ports: the pact's addresses are enough.
func TestEdgeFragments(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	to := endpoint(proxyA, 80)
	for n, p := range []packets.Packet{
		filled(udp(inA, to), 4000), filled(echo(hostA, proxyA, 7), 3000), filled(udp(inA, to).Change(func(p *packets.Packet) { p.UDP.Checksum = packets.ChecksumZero }), 1601),
	} {
		id := uint16(100 + n)
		cut := divided(p, id, 1200)
		cut[0], cut[1] = cut[1], cut[0] // in any order
		var got []packets.Packet
		for _, piece := range cut {
			_, inner := g.tunnelled(g.put(piece))
			got = append(got, inner)
		}
		whole := joined(t, got)
		want := tagged(p, a).Change(func(p *packets.Packet) { p.IPv4.TTL--; p.IPv4.DF = false; p.IPv4.ID = id })
		same(g, fmt.Sprint("the whole of ", p), string(whole.Network()), string(want.Network()))
	}
	piece := divided(filled(udp(inB, to), 2000), 9, 1200)[1]
	g.dropped(g.put(piece), "drop_proxy_foreign")
	piece = divided(filled(udp(inA, to), 3000), 9, 1480)[1]
	g.dropped(g.put(piece), "drop_too_big")
}

// The last fragment may have few octets, or one, and no more behind it in the frame.
func TestEdgeFragmentsOfFewOctets(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t)
	to := endpoint(proxyA, 53)
	g.sends(g.put(udp(inA, to)), tagged(udp(inA, to), a))
	for octets := 1; octets < 10; octets++ {
		out, in := divided(filled(udp(inA, to), 1000+octets), 9, 1008)[1], divided(filled(udp(to, inA), 1000+octets), 9, 1008)[1]
		g.sends(g.put(out), tagged(out, a))
		g.leaves(g.fromEdge(a, in), in)
	}
}

// Where no neighbour is known, the kernel finds it, and sends the packet as one of the gateway's own.
func TestEdgeOutByTheKernel(t *testing.T) {
	t.Parallel()
	g, a, _ := newEdge(t, strangers)
	p := udp(inA, endpoint(proxyA, 80))
	r := g.put(p)
	if r.action != dataplane.Pass || r.reason != "forwarded_no_neighbour" {
		t.Fatalf("%v, %s, want it left to the kernel", r.action, r.reason)
	}
	copy(r.frame, packets.RouterMAC[:])
	_, inner := g.decapsulated(r.frame)
	want := tagged(p, a).Change(func(p *packets.Packet) { p.IPv4.TTL-- })
	same(g, "what is in it", string(inner.Network()), string(want.Network()))
}
