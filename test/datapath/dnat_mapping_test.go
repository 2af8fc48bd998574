package datapath

import (
	"fmt"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/dnat"
)

// A port that dnat names is given to no mapping; who had it before keeps it, with what
// it speaks to.
func TestDnatAndMappings(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	inShop, inOther := endpoint(hostB, shop.Port()), endpoint(hostA, shop.Port())
	same(g, "port", g.mapped(udp(inShop, server)), shop)
	g.forwards([]forward{{to: outbound, protocol: model.UDP, port: shop.Port(), dnat: dnat.Dnat{Address: hostA, Port: 80}}})
	g.leaves(g.put(udp(server, shop)), udp(server, inShop))
	g.leaves(g.put(udp(server2, shop)), udp(server2, shopIn))
	g.leaves(g.put(udp(shopIn, server2)), udp(shop, server2))
	g.dropped(g.put(udp(inShop, server2)), "drop_session_conflict")
	same(g, "origins", fmt.Sprint(g.origins()), "[dnat inside]")
	if out := g.mapped(udp(inOther, server2)); out == shop {
		t.Errorf("%s was given to a mapping", out)
	}
	for n := range 200 {
		if out := g.mapped(tcp(endpoint(host(n), shop.Port()), server2, packets.SYN)); n == 0 && out != shop {
			t.Errorf("the port of another protocol became %s", out)
		}
	}
	g.sound()
	g.forwards(nil)
	g.leaves(g.put(udp(server, shop)), udp(server, inShop))
	g.dropped(g.put(udp(inShop, server2)), "drop_session_conflict") // the session of the dnat still stands
	g.idle(301e9)
	g.idle(121e9)
	same(g, "port", g.mapped(udp(inOther, server2)), shop)
	g.sound()
}

// Nearly all low ports are dnat's: those that are left are found.
func TestDnatLeavesMappingsTheOthers(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	all := forward{to: outbound, protocol: model.UDP, port: 1, last: 1023, dnat: dnat.Dnat{Address: hostA}}
	g.forwards([]forward{all})
	p := udp(endpoint(hostB, 500), server)
	g.refused(g.put(p), p, "drop_no_port", privateAddress, 3, 1, 0)
	all.last = 300
	g.forwards([]forward{all})
	for n := range 100 {
		if out := g.mapped(udp(endpoint(host(n), 53), server)); out.Port() <= 300 || out.Port() > 1023 {
			t.Fatalf("a mapping got port %d", out.Port())
		}
	}
	g.sound()
}

// Hosts inside reach what is sent on by its public address, as from outside.
func TestDnatHairpin(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]option{"an address of its own": nil, "a shared address": {shared}} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t, options...)
			g.forwards([]forward{tcpTo(shop, shopIn), {to: dnat1, dnat: dnat.Dnat{Address: hostA}}})
			from := endpoint(hostB, 9000)
			out := endpoint(outbound, 9000)
			g.leaves(g.put(tcp(from, shop, packets.SYN)), tcp(out, shopIn, packets.SYN))
			g.leaves(g.put(tcp(shopIn, out, synAck)), tcp(shop, from, synAck))
			g.leaves(g.put(udp(from, endpoint(dnat1, 99))), udp(out, endpoint(hostA, 99)))
			g.leaves(g.put(udp(endpoint(hostA, 99), out)), udp(endpoint(dnat1, 99), from))
			self := endpoint(hostA, 9001)
			g.leaves(g.put(tcp(self, shop, packets.SYN)), tcp(endpoint(outbound, 9001), shopIn, packets.SYN))
			g.dropped(g.fromOutside(outside(tcp(out, shop, packets.ACK))), "drop_spoofed_source")
			g.sound()
		})
	}
}

// On an address that the gateway shares, dnat comes before its sockets, and leaves them
// what it does not name.
func TestDnatOnASharedAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	g.forwards([]forward{tcpTo(shop, shopIn), {from: remote, to: outbound, protocol: model.UDP, port: 53, dnat: dnat.Dnat{Address: hostB}}})
	g.established(client, shop, shopIn)
	g.leaves(g.put(udp(client, endpoint(outbound, 53))), udp(client, endpoint(hostB, 53)))
	for _, p := range []packets.Packet{
		udp(client2, endpoint(outbound, 53)), tcp(client, endpoint(outbound, 22), packets.SYN),
		ttl1(tcp(client, endpoint(outbound, 179), packets.SYN)), tcp(client2, shop, packets.ACK),
	} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
}
