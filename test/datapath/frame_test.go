package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

var (
	groupMAC = packets.MAC{0x01, 0x00, 0x5e, 0x00, 0x00, 0x05}
	allNodes = packets.MAC{0x33, 0x33, 0, 0, 0, 1}
)

// framed puts a packet into a frame to the MAC.
func framed(mac packets.MAC, p packets.Packet) packets.Packet {
	p = addressed(p)
	return p.Between(p.Ethernet.Source, mac)
}

// A frame to everybody carries nothing to forward (RFC 1812 §5.3.4): every
// gateway on the link would send it on.
func TestFramesToEverybody(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, service, nil)
	out := g.mapped(udp(inA, server))
	for _, mac := range []packets.MAC{packets.BroadcastMAC, groupMAC} {
		for _, p := range []packets.Packet{
			udp(inA, server), udp(inB, server2), tcp(inA, web, packets.SYN), echo(hostA, remote, 1), udp(inA, lent),
			unreachable(hostA, 3, 0, udp(server, inA), 8),
			udp(server, out), tcp(client, lent, packets.SYN), unreachable(hop, 1, 0, udp(out, server), 8),
		} {
			public := !realm.Contains(p.IPv4.Source)
			r := g.send(public, framed(mac, p).Bytes())
			g.dropped(r, "drop_link_broadcast")
		}
	}
	g.count(1)
	g.knocks(client) // its claim is not spent
}

// What is for every machine on the link is for the gateway too, in such frames
// as well.
func TestFramesToEverybodyForTheGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, public := range []bool{true, false} {
		from := inA
		if public {
			from = client
		}
		for _, p := range []packets.Packet{
			framed(packets.BroadcastMAC, udp(from, endpoint(netip.MustParseAddr("255.255.255.255"), 67))),
			framed(groupMAC, udp(from, endpoint(netip.MustParseAddr("224.0.0.5"), 67))),
		} {
			g.passed(g.send(public, p.Bytes()), "to_gateway", p.Bytes())
		}
		six := packets.NewUDP(packets.At("[fe80::99]:546"), packets.At("[ff02::1]:547"), "x").Between(packets.RouterMAC, allNodes).Bytes()
		g.passed(g.send(public, six), "to_gateway", six)
	}
	ask := packets.NewARPRequest(packets.RouterMAC, router, pool1)
	same(g, "destination of an ARP request", ask.Ethernet.Destination, packets.BroadcastMAC)
	same(g, "reason", g.send(true, ask.Bytes()).reason, "answered_arp")
}

// sourceRoutes are options with a route of the sender's choice in them, and how
// they may hide.
var sourceRoutes = map[string][]byte{
	"loose":                      {131, 7, 4, 192, 0, 2, 1, 0},
	"strict":                     {137, 7, 4, 192, 0, 2, 1, 0},
	"used up":                    {131, 7, 8, 192, 0, 2, 1, 0},
	"behind no-operations":       {1, 1, 1, 131, 7, 4, 192, 0, 2, 1, 0, 0},
	"behind a router alert":      {148, 4, 0, 0, 137, 7, 4, 192, 0, 2, 1, 0},
	"behind a recorded route":    {7, 7, 4, 0, 0, 0, 0, 131, 7, 4, 192, 0, 2, 1, 0, 0},
	"at the end of forty octets": append(repeated(1, 33), 131, 7, 4, 192, 0, 2, 1),
}

// otherOptions look a little like them.
var otherOptions = map[string][]byte{
	"record route":                     {7, 7, 4, 0, 0, 0, 0, 0},
	"router alert":                     {148, 4, 0, 0},
	"no-operations":                    {1, 1, 1, 1},
	"end of options":                   {0, 0, 0, 0},
	"behind the end of options":        {0, 131, 7, 4, 192, 0, 2, 1},
	"inside of a recorded route":       {7, 11, 4, 131, 7, 4, 192, 137, 7, 4, 192, 0},
	"timestamp that holds such octets": {68, 8, 5, 0, 131, 137, 131, 137},
}

// repeated is an octet n times.
func repeated(octet byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = octet
	}
	return b
}

func withOptions(octets []byte) func(*packets.Packet) {
	return func(p *packets.Packet) { p.IPv4.Options = octets }
}

// Flags that no sender of TCP sets say nothing of a connection (RFC 9293 section 3.10.7): they are for probing.
func TestFlagsThatNoSenderSets(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.connected(inA, web)
	for flags := range packets.URG << 1 {
		p := tcp(inA, web, flags)
		first := with(p, "1234").Change(func(p *packets.Packet) { p.IPv4.MF = true })
		if tcpFlags[flags&^(packets.PSH|packets.URG)] {
			g.leaves(g.put(p), tcp(out, web, flags))
			continue
		}
		g.dropped(g.put(p), "drop_tcp_flags")
		g.dropped(g.put(first), "drop_tcp_flags")
	}
}

// Whatever PSH and URG say. Netfilter wants URG with ACK alone, and no FIN with RST (nf_conntrack_proto_tcp.c).
var tcpFlags = map[packets.Flags]bool{
	packets.SYN: true, synAck: true, packets.RST: true, packets.RST | packets.ACK: true, packets.RST | packets.FIN: true,
	packets.RST | packets.FIN | packets.ACK: true, packets.FIN | packets.ACK: true, packets.ACK: true,
}

// A sender does not choose the way (RFC 7126 §4.3 and §4.4); what else stands
// among the options is none of our business.
func TestSourceRoutes(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	g.lend(pool1, 80, service, nil)
	for name, octets := range sourceRoutes {
		for _, p := range []packets.Packet{
			udp(inA, server), udp(inB, server2), tcp(inA, web, packets.SYN), echo(hostA, remote, 1), udp(server, out),
			tcp(client, lent, packets.SYN), unreachable(hop, 1, 0, udp(out, server), 8), unreachable(hostA, 3, 0, udp(server, inA), 8),
		} {
			p = p.Change(withOptions(octets))
			if r := g.put(p); r.reason != "drop_source_route" {
				t.Errorf("%s: %s: %v, %s, want drop_source_route", name, p, r.action, r.reason)
				break
			}
		}
	}
	g.count(1)
	g.knocks(client)
}

func TestOptionsThatAreNoSourceRoutes(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := endpoint(outbound, inA.Port())
	for name, octets := range otherOptions {
		t.Log(name)
		change := withOptions(octets)
		g.leaves(g.put(udp(inA, server).Change(change)), udp(out, server).Change(change))
		g.leaves(g.put(udp(server, out).Change(change)), udp(server, inA).Change(change))
		g.leaves(g.put(tcp(inA, web, packets.SYN).Change(change)), tcp(out, web, packets.SYN).Change(change))
	}
}
