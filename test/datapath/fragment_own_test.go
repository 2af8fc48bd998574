package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// ownStreams opens flows that keep their port: of hostA by an address of its own, and of hostB without NAT.
func (g *gateway) ownStreams() []stream {
	g.t.Helper()
	g.settings.Except = []netip.Prefix{farSite}
	g.oneToOne(map[netip.Addr]netip.Addr{hostA: alone})
	out, in, third := endpoint(alone, inA.Port()), endpoint(alone, 9), endpoint(hostB, 4000)
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	g.leaves(g.put(echo(hostA, remote, 7)), echo(alone, remote, 7))
	g.leaves(g.put(udp(server2, in)), udp(server2, endpoint(hostA, 9)))
	g.leaves(g.put(tcp(client, in, packets.SYN)), tcp(client, endpoint(hostA, 9), packets.SYN))
	g.leaves(g.put(tcp(endpoint(hostA, 9), client, packets.SYN|packets.ACK)), tcp(in, client, packets.SYN|packets.ACK))
	g.leaves(g.put(udp(third, in)), udp(endpoint(outbound, third.Port()), endpoint(hostA, 9)))
	g.untranslated(udp(inB, far), echo(hostB, far.Addr(), 7), tcp(inB, farWeb, packets.SYN), tcp(farWeb, inB, packets.SYN|packets.ACK))
	list := []stream{
		{"1:1, out", udp(inA, server), udp(out, server)},
		{"1:1, in", udp(server, out), udp(server, inA)},
		{"1:1, echo", echo(hostA, remote, 7), echo(alone, remote, 7)},
		{"1:1, echo reply", echoReply(remote, alone, 7), echoReply(remote, hostA, 7)},
		{"1:1, opened from outside, in", udp(server2, in), udp(server2, endpoint(hostA, 9))},
		{"1:1, opened from outside, out", udp(endpoint(hostA, 9), server2), udp(in, server2)},
		{"1:1, a connection from outside, in", tcp(client, in, packets.ACK), tcp(client, endpoint(hostA, 9), packets.ACK)},
		{"1:1, a connection from outside, out", tcp(endpoint(hostA, 9), client, packets.ACK), tcp(in, client, packets.ACK)},
		{"1:1, hairpin", udp(third, in), udp(endpoint(outbound, third.Port()), endpoint(hostA, 9))},
		{"1:1, hairpin back", udp(endpoint(hostA, 9), endpoint(outbound, third.Port())), udp(in, third)},
	}
	for name, p := range map[string]packets.Packet{
		"out": udp(inB, far), "in": udp(far, inB), "TCP out": tcp(inB, farWeb, packets.ACK), "TCP in": tcp(farWeb, inB, packets.ACK),
		"echo": echo(hostB, far.Addr(), 7), "echo reply": echoReply(far.Addr(), hostB, 7),
	} {
		list = append(list, stream{"without NAT, " + name, p, p})
	}
	return list
}

func TestFragmentsOfOwnAddresses(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for n, s := range g.ownStreams() {
		g.passes(divided(filled(s.sent, 1000), uint16(100+n), 200), filled(s.want, 1000))
	}
}

// The first fragment may come last: what is early is held, also where no table has the host's address.
func TestFragmentsOfOwnAddressesInAnyOrder(t *testing.T) {
	t.Parallel()
	bothModes(t, func(t *testing.T, at option) {
		g := newGateway(t, at)
		e := g.ends()
		e.anyOrder(e.ownStreams(), *datagrams/4, func(int) {})
	})
}

// Without NAT, too, only those who had a session have places, and only towards hosts inside.
func TestEarlyFragmentsWithoutNATAreBounded(t *testing.T) {
	t.Parallel()
	g := newGateway(t, except(farSite))
	early := func(from, to netip.AddrPort, id int) result {
		return g.put(divided(filled(udp(from, to), 400), uint16(id), 200)[1])
	}
	g.dropped(early(far, inA, 1), "drop_fragment") // nobody has spoken to it
	g.untranslated(udp(inA, far))
	g.mapped(udp(inA, server))
	for name, p := range map[string][2]netip.AddrPort{
		"a neighbour of who is known":     {endpoint(farHop, 53), inA},
		"for nobody inside":               {far, endpoint(never, 53)},
		"for a network that has no route": {far, endpoint(farHop, 53)},
		"from who is translated":          {server, inA},
	} {
		if r := early(p[0], p[1], 2); r.reason != "drop_fragment" {
			t.Errorf("%s: %v, %s", name, r.action, r.reason)
		}
	}
	same(g, "slots that are taken", g.held(), 0)
	for n := range 200 {
		if r := early(far, inA, n); r.reason != "held_fragment" && r.reason != "drop_fragment" {
			t.Fatalf("%v, %s", r.action, r.reason)
		}
	}
	same(g, "slots that are taken", g.held(), 32)
	g.untranslated(udp(far, inA), udp(inA, far))
	g.excepts()
	g.dropped(early(far, inB, 999), "drop_fragment")
}
