package datapath

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// one makes the outbound address of the pool, too; services have those ports of it.
func (g *gateway) one(ports ...model.Port) {
	g.t.Helper()
	services := slices.Clone(g.services)
	for _, p := range ports {
		services = append(services, datapath.Service{Host: outbound, Protocol: p.Protocol, Port: p.Port})
	}
	g.in(func() error {
		if err := g.data.SetAddresses([]netip.Addr{outbound, pool1, pool2}, nil); err != nil {
			return err
		}
		_, err := g.data.SetPolicy(g.settings, services, nil)
		return err
	})
}

// The only public address, and a service's ports of it.
var (
	lentOne  = endpoint(outbound, 80)
	quicPort = model.Port{Protocol: model.UDP, Port: 4433, To: 8081}
)

// onBoth runs a test with the address on an interface, and on none.
func onBoth(t *testing.T, run func(t *testing.T, g *gateway, own bool)) {
	t.Helper()
	for name, options := range map[string][]option{"of an interface": {shared}, "of none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newGateway(t, options...), options != nil)
		})
	}
}

// A name's port leads to its host, every other is NAT's and the gateway's; sessions of both kinds
// stand side by side.
func TestOneAddress(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, g *gateway, own bool) {
		g.one(tcpPort(80, 8080), quicPort)
		b := g.bind(outbound, hostA, tcpPort(80, 8080), quicPort)
		g.reserve(b, func(r *datapath.Reservation) { r.Claims = 2 })
		g.established(client, lentOne, service)
		g.leaves(g.put(udp(client2, endpoint(outbound, 4433))), udp(client2, endpoint(hostA, 8081)))
		g.leaves(g.put(udp(endpoint(hostA, 8081), client2)), udp(endpoint(outbound, 4433), client2))
		in := endpoint(hostA, 5000)
		out := g.connected(in, web)
		same(g, "outside endpoint", out, endpoint(outbound, 5000))
		g.leaves(g.put(tcp(web, out, packets.ACK)), tcp(web, in, packets.ACK))
		g.leaves(g.put(tcp(client, lentOne, packets.ACK)), tcp(client, service, packets.ACK))
		g.leaves(g.put(tcp(service, client, packets.ACK)), tcp(lentOne, client, packets.ACK))
		for _, p := range []packets.Packet{
			tcp(client, endpoint(outbound, 81), packets.SYN), udp(client, lentOne), udp(client, endpoint(outbound, 53)), echo(remote, outbound, 4),
		} {
			if own {
				g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
			} else {
				g.dropped(g.put(p), "drop_no_mapping")
			}
		}
		g.dropped(g.put(tcp(client2, out, packets.SYN)), "drop_filtered")
		g.sound()
		same(g, "origins", len(g.origins()), 3)
		// The host's own flow from the port that is bound goes out by another.
		if again := g.mapped(tcp(service, web, packets.SYN)); again.Port() == lentOne.Port() {
			t.Errorf("a mapping has the service's port: %s", again)
		}
		g.sound()
	})
}

// The port and its host's are one: in its bucket both directions of the session are found.
func TestOneAddressKeepsThePort(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, g *gateway, _ bool) {
		g.one(tcpPort(8080, 8080))
		at := endpoint(outbound, 8080)
		g.lend(outbound, 8080, service, nil)
		g.established(client, at, service)
		g.leaves(g.put(tcp(client, at, packets.PSH|packets.ACK)), tcp(client, service, packets.PSH|packets.ACK))
		g.forwarded(g.put(tcp(client, at, packets.RST)))
		g.dropped(g.put(tcp(client2, at, packets.SYN)), "drop_no_reservation")
		g.leaves(g.put(segment(client, at, packets.SYN, clientISN, 0)), segment(client, service, packets.SYN, clientISN, 0)) // known
		g.sound()
	})
}

// Who has nothing to claim reaches nobody, not the gateway either, and is told as at any pool address.
func TestOneAddressRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, g *gateway, _ bool) {
		g.settings.Refuse = true
		g.one(tcpPort(80, 8080), quicPort)
		g.bind(outbound, hostA, tcpPort(80, 8080), quicPort)
		p := tcp(client, lentOne, packets.SYN)
		g.reset(g.put(p), p, "drop_no_reservation")
		p = tcp(client, lentOne, packets.ACK)
		g.reset(g.put(p), p, "drop_not_syn")
		g.unreachablePort(g.put(udp(client, endpoint(outbound, 4433))), udp(client, endpoint(outbound, 4433)), "drop_no_reservation")
		g.settings.Refuse = false
		g.one(tcpPort(80, 8080), quicPort)
		g.dropped(g.put(udp(client, endpoint(outbound, 4433))), "drop_no_reservation")
		g.count(0)
	})
}

// No mapping gets a service's port, whichever host has it inside and whether it is bound just now.
func TestOneAddressKeepsPortsFromMappings(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, g *gateway, _ bool) {
		g.one(tcpPort(5000, 80), model.Port{Protocol: model.UDP, Port: 5001, To: 80})
		for n := range 20 {
			if out := g.mapped(tcp(endpoint(host(n), 5000), web, packets.SYN)); out.Port() == 5000 {
				t.Fatalf("%s is a mapping's", out)
			}
			if out := g.mapped(udp(endpoint(host(n), 5001), server)); out.Port() == 5001 {
				t.Fatalf("%s is a mapping's", out)
			}
		}
		same(g, "the other protocol's", g.mapped(udp(endpoint(hostA, 5000), server)).Port(), 5000)
		g.sound()
	})
}

// A mapping that stood when the port became a service's keeps it until it ends, and then nobody else gets it.
func TestOneAddressAndAnOlderMapping(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, g *gateway, _ bool) {
		g.one()
		in, at := endpoint(hostB, 5000), endpoint(outbound, 5000)
		same(g, "outside endpoint", g.connected(in, web), at)
		g.one(tcpPort(5000, 8080))
		g.leaves(g.put(tcp(web, at, packets.ACK)), tcp(web, in, packets.ACK))
		g.leaves(g.put(tcp(in, web, packets.ACK)), tcp(at, web, packets.ACK))
		held, mapped, err := g.data.MappedTo(model.TCP, at)
		if err != nil || !mapped || held != in {
			t.Fatalf("%s, %v, %v", held, mapped, err)
		}
		if out := g.mapped(tcp(endpoint(hostA, 5000), web, packets.SYN)); out == at {
			t.Fatalf("%s is another's mapping", out)
		}
		g.idle(7441 * time.Second)
		g.idle(241 * time.Second)
		g.count(0)
		if out := g.mapped(tcp(in, web, packets.SYN)); out == at {
			t.Fatalf("%s is a mapping's again", out)
		}
		g.lend(outbound, 5000, service, nil)
		g.established(client2, at, service)
		// Who spoke with the host that had the port reaches nobody (I9).
		g.dropped(g.put(tcp(web, at, packets.ACK)), "drop_not_syn")
		g.dropped(g.put(tcp(web, at, packets.SYN)), "drop_no_reservation")
		g.sound()
	})
}

// I9: when the port goes to another host, who was given it for the first goes on with that, and nobody
// reaches the second by what it was told of the first.
func TestOneAddressMoves(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, g *gateway, own bool) {
		g.one(tcpPort(80, 8080))
		first := g.bind(outbound, hostA, tcpPort(80, 8080))
		g.reserve(first, func(r *datapath.Reservation) { r.Claims = 9 })
		g.established(client, lentOne, service)
		g.unbind(first)
		late := tcp(client2, lentOne, packets.SYN)
		if own {
			g.passed(g.put(late), "to_gateway", addressed(late).Bytes()) // where nothing listens
		} else {
			g.dropped(g.put(late), "drop_no_mapping")
		}
		next := g.bind(outbound, hostB, tcpPort(80, 8080))
		g.dropped(g.put(late), "drop_no_reservation")
		g.dropped(g.put(tcp(endpoint(remote, 50001), lentOne, packets.SYN)), "drop_no_reservation") // known to the first
		g.leaves(g.put(tcp(client, lentOne, packets.ACK)), tcp(client, service, packets.ACK))
		g.reserve(next, nil)
		g.established(client2, lentOne, endpoint(hostB, 8080))
		g.sound()
	})
}

// The gateway's own sockets come first, those that listen and those that are connected.
func TestOneAddressAndOwnSockets(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	g.one(tcpPort(80, 8080), quicPort)
	b := g.bind(outbound, hostA, tcpPort(80, 8080), quicPort)
	g.reserve(b, func(r *datapath.Reservation) { r.Claims = 4 })
	listener := must(g.namespace.Listen("tcp", lentOne.String()))(t)
	peer := endpoint(router, 53)
	socket := must(g.namespace.DialFrom(t.Context(), "udp", endpoint(outbound, 4433), peer.String()))(t)
	defer socket.Close()
	for _, p := range []packets.Packet{tcp(client, lentOne, packets.SYN), udp(peer, endpoint(outbound, 4433)), tcp(inA, lentOne, packets.SYN)} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
	g.leaves(g.put(udp(client, endpoint(outbound, 4433))), udp(client, endpoint(hostA, 8081))) // no peer of the socket
	check(t, listener.Close())
	g.established(client, lentOne, service)
	g.sound()
}

// A host inside reaches the name by the public address, be it its own.
func TestOneAddressFromInside(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, g *gateway, own bool) {
		g.one(tcpPort(80, 8080), tcpPort(443, 443))
		b := g.bind(outbound, hostA, tcpPort(80, 8080))
		g.reserve(b, func(r *datapath.Reservation) { r.Claims = 2 })
		for _, in := range []netip.AddrPort{endpoint(hostB, 5000), endpoint(hostA, 5001)} {
			from := endpoint(outbound, in.Port())
			g.leaves(g.put(segment(in, lentOne, packets.SYN, clientISN, 0)), segment(from, service, packets.SYN, clientISN, 0))
			g.leaves(g.put(segment(service, from, synAck, hostISN, clientISN+1)), segment(lentOne, in, synAck, hostISN, clientISN+1))
			g.leaves(g.put(proof(in, lentOne)), proof(from, service))
		}
		g.leaves(g.put(unreachable(hostA, 3, 0, tcp(endpoint(outbound, 5000), service, packets.ACK), 8)),
			unreachable2(outbound, hostB, 3, tcp(endpoint(hostB, 5000), lentOne, packets.ACK), 8))
		g.dropped(g.put(tcp(endpoint(hostB, 7), endpoint(outbound, 443), packets.SYN)), "drop_no_mapping") // not bound
		if p := udp(inB, endpoint(outbound, 53)); own {
			g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
		}
		g.dropped(g.fromOutside(outside(tcp(endpoint(outbound, 5000), lentOne, packets.ACK))), "drop_spoofed_source")
		g.sound()
	})
}

// ICMP errors about both kinds of sessions find them.
func TestOneAddressErrors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, g *gateway, _ bool) {
		g.one(tcpPort(80, 8080))
		g.lend(outbound, 80, service, nil)
		g.established(client, lentOne, service)
		out := g.connected(inB, web)
		g.leaves(g.put(unreachable(hop, 3, 1, tcp(lentOne, client, packets.ACK), 8)), unreachable(hop, 3, 1, tcp(service, client, packets.ACK), 8).
			Change(func(p *packets.Packet) { p.IPv4.Destination = hostA }))
		g.leaves(g.put(unreachable(hop, 3, 1, tcp(out, web, packets.ACK), 8)), unreachable(hop, 3, 1, tcp(inB, web, packets.ACK), 8).
			Change(func(p *packets.Packet) { p.IPv4.Destination = hostB }))
	})
}

// What stands goes on when the address leaves the pool, and when it comes back, also with another daemon.
func TestOneAddressComesAndGoes(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	g.one(tcpPort(80, 8080))
	b := g.bind(outbound, hostA, tcpPort(80, 8080))
	g.reserve(b, func(r *datapath.Reservation) { r.Claims = 9 })
	g.established(client, lentOne, service)
	goesOn := func() {
		t.Helper()
		g.leaves(g.put(tcp(client, lentOne, packets.ACK)), tcp(client, service, packets.ACK))
		g.leaves(g.put(tcp(service, client, packets.ACK)), tcp(lentOne, client, packets.ACK))
	}
	g.reopen()
	goesOn()
	g.established(client2, lentOne, service)
	g.unbind(b)
	g.in(func() error {
		if err := g.data.SetAddresses([]netip.Addr{pool1, pool2}, nil); err != nil {
			return err
		}
		_, err := g.data.SetPolicy(g.settings, g.services, nil)
		return err
	})
	goesOn()
	p := tcp(client2, endpoint(outbound, 80), packets.SYN)
	g.one(tcpPort(80, 8080))
	goesOn()
	g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	g.sound()
}
