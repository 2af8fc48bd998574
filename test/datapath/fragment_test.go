package datapath

import (
	"bytes"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/firstbytes"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// divided is a packet in pieces of so many octets, as its sender or a router on the way
// divides it.
func divided(p packets.Packet, id uint16, octets int) []packets.Packet {
	return p.Change(func(p *packets.Packet) { p.IPv4.DF, p.IPv4.ID = false, id }).Fragments(octets)
}

// joined is the packet that pieces are of, in any order, with one identification.
func joined(t testing.TB, pieces []packets.Packet) packets.Packet {
	t.Helper()
	var octets []byte
	var last bool
	id := pieces[0].IPv4.ID
	for _, p := range pieces {
		body := p.Network()[20:]
		at := int(p.IPv4.FragmentOffset) * 8
		if grown := at + len(body) - len(octets); grown > 0 {
			octets = append(octets, make([]byte, grown)...)
		}
		copy(octets[at:], body)
		if p.IPv4.ID != id {
			t.Fatalf("identification %d among those of %d", p.IPv4.ID, id)
		}
		last = last || !p.IPv4.MF
	}
	if !last {
		t.Fatal("the last fragment is missing")
	}
	whole := pieces[0].Change(func(p *packets.Packet) {
		p.IPv4.FragmentOffset, p.IPv4.MF, p.IPv4.TotalLength, p.IPv4.Checksum = 0, false, 0, packets.ChecksumValid
		p.UDP, p.TCP, p.ICMP, p.Payload = nil, nil, nil, octets
	})
	parsed, err := packets.Parse(whole.Bytes())
	check(t, err)
	return parsed
}

// passes puts pieces in, in this order, and wants them out, together being want with one hop
// less. It returns their identification.
func (g *gateway) passes(pieces []packets.Packet, want packets.Packet) uint16 {
	g.t.Helper()
	out := make([]packets.Packet, 0, len(pieces))
	for i, p := range pieces {
		r := g.put(p)
		if r.action != dataplane.Redirect || r.reason != "forwarded" {
			g.t.Fatalf("piece %d, %s: %v, %s, want it forwarded", i, p, r.action, r.reason)
		}
		out = append(out, r.packet)
	}
	got := joined(g.t, out)
	want = want.Change(func(p *packets.Packet) {
		p.IPv4.TTL--
		p.IPv4.DF, p.IPv4.ID = false, got.IPv4.ID
	}).Between(got.Ethernet.Source, got.Ethernet.Destination)
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		g.t.Fatalf("came out otherwise: %s", frames.Diff(want.Bytes(), got.Bytes()))
	}
	return got.IPv4.ID
}

// filled is a packet with so many octets of payload.
func filled(p packets.Packet, octets int) packets.Packet {
	return p.Change(func(p *packets.Packet) {
		p.Payload = make([]byte, octets)
		for i := range p.Payload {
			p.Payload[i] = byte(i * 7)
		}
	})
}

// Fragments follow the first of their packet, whatever it is and wherever it goes.
func TestRFC4787_REQ14_InOrder(t *testing.T) {
	t.Parallel()
	g := newGateway(t, filtering(model.EndpointIndependent))
	out := g.mapped(udp(inA, server))
	answers := g.mapped(echo(hostA, remote, 7))
	there := g.mapped(udp(inB, server2))
	g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	for n := range 3 {
		octets, id := []int{8, 200, 1480}[n], uint16(100+n)
		for _, c := range []struct{ sent, want packets.Packet }{
			{udp(inA, server), udp(out, server)},
			{udp(server, out), udp(server, inA)},
			{tcp(service, client, packets.ACK), tcp(lent, client, packets.ACK)},
			{tcp(client, lent, packets.ACK), tcp(client, service, packets.ACK)},
			{echo(hostA, remote, 7), echo(outbound, remote, answers.Port())},
			{echoReply(remote, outbound, answers.Port()), echoReply(remote, hostA, 7)},
			{udp(inA, there), udp(out, inB)},
		} {
			if c.sent.TCP != nil { // whose header is in one piece
				octets = max(octets, 24)
			}
			g.passes(divided(filled(c.sent, 20*octets), id, octets), filled(c.want, 20*octets))
		}
	}
}

// Functions that see every packet see fragments by their flow; the first bytes of a flow cannot
// be judged where another fragment may be put over them.
func TestFragmentsAreShownToFunctions(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.judging(firstbytes.FirstBytes{Deny: signatures("SSH-")}, false)
	whole := filled(udp(inA, server), 400)
	for _, p := range divided(whole, 1, 200)[:1] {
		g.refused(g.put(p), p, "drop_denied", privateAddress, packets.DestinationUnreachable, 13, 0)
	}
	g.dropped(g.put(divided(whole, 1, 200)[1]), "held_fragment")
	g.forwarded(g.put(filled(whole, 40)))
	out, seen := endpoint(outbound, inA.Port()), g.seen(2)
	g.passes(divided(whole, 2, 200), filled(udp(out, server), 400))
	same(g, "fragments that the function has seen", g.seen(2)-seen, 3)
	back := divided(filled(udp(server, out), 400), 3, 200)
	g.passes(back, filled(udp(server, inA), 400))
	same(g, "fragments that the function has seen", g.seen(2)-seen, 6)
}

// What the requirements of each protocol were not yet met in was its fragments.
func TestRFC6888_REQ1_EachProtocol(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	u, c, q := g.mapped(udp(inA, server)), g.connected(inA, web), g.mapped(echo(hostA, remote, 7)).Port()
	for n, s := range []stream{
		{"UDP", udp(inA, server), udp(u, server)},
		{"UDP in", udp(server, u), udp(server, inA)},
		{"TCP", tcp(inA, web, packets.ACK), tcp(c, web, packets.ACK)},
		{"TCP in", tcp(web, c, packets.ACK), tcp(web, inA, packets.ACK)},
		{"ICMP", echo(hostA, remote, 7), echo(outbound, remote, q)},
		{"ICMP in", echoReply(remote, outbound, q), echoReply(remote, hostA, 7)},
	} {
		g.leaves(g.put(s.sent), s.want)
		g.passes(divided(filled(s.sent, 1000), uint16(n), 200), filled(s.want, 1000))
	}
}
