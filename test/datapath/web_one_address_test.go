package datapath

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// servesOnOneAddress is a gateway whose only public address is for all, the web among it, while programs of its own listen at
// the web's ports.
func servesOnOneAddress(t *testing.T, options ...option) *gateway {
	t.Helper()
	g := newGateway(t, append(options, shared)...)
	for _, port := range []string{"0.0.0.0:80", outbound.String() + ":443"} {
		t.Cleanup(func() func() { l := must(g.namespace.Listen("tcp", port))(t); return func() { _ = l.Close() } }())
	}
	t.Cleanup(func() func() {
		l := must(g.namespace.ListenPacket("udp", "0.0.0.0:443"))(t)
		return func() { _ = l.Close() }
	}())
	for port, protocols := range map[uint16][]model.Protocol{80: {model.TCP}, 443: {model.TCP, model.UDP}} {
		for _, p := range protocols {
			g.services = append(g.services, datapath.Service{Host: outbound, Protocol: p, Port: port})
		}
	}
	g.servesAt(outbound, allPromised)
	return g
}

// At the address that the gateway has for everything the web has its ports, whoever listens there, and no more than those.
func TestWebOnOneAddress(t *testing.T) {
	t.Parallel()
	g := servesOnOneAddress(t)
	v := g.visitor(client, fullAbility, fullAbility)
	v.to = endpoint(outbound, 80)
	v.knocks(allPromised)
	v.connects("GET / HTTP/1.1\r\n")
	v.opens()
	v.talks()
	g.count(1)
	g.dropped(g.put(with(udp(client, endpoint(outbound, 443)), initial)), "held_for_name")
	g.tells(datapath.WebDatagram)
	for _, p := range []packets.Packet{
		tcp(client, endpoint(outbound, 22), packets.SYN), udp(client, endpoint(outbound, 53)), udp(client, endpoint(outbound, 80)), echo(remote, outbound, 3),
		unreachable(hop, 1, 0, tcp(endpoint(outbound, 80), server, packets.ACK), 8), packets.NewARPRequest(packets.RouterMAC, router, outbound),
	} {
		r := g.fromOutside(outside(p))
		same(g, p.String(), r.reason, "to_gateway")
	}
	quoted := segment(v.to, v.client, packets.ACK, v.cookie+1, v.isn+1)
	got := g.forwarded(g.put(unreachable(hop, 1, 0, quoted, 8)))
	same(g, "who hears that the client is out of reach", got.IPv4.Destination, hostA)
}

// Connections out go on beside it, and none has a port of the web, whatever port its host has.
func TestWebPortsAreNoMappings(t *testing.T) {
	t.Parallel()
	g := servesOnOneAddress(t, filtering(model.EndpointIndependent))
	for n := range 200 {
		for _, port := range []uint16{80, 443, 8443} {
			out := g.mapped(tcp(endpoint(host(n), port), server, packets.SYN))
			if out.Addr() != outbound || out.Port() == 80 || out.Port() == 443 || port < 1024 != (out.Port() < 1024) {
				t.Fatalf("port %d of a host has become %s", port, out)
			}
			if udpOut := g.mapped(udp(endpoint(host(n), port), server)); udpOut.Port() == 443 {
				t.Fatalf("udp port %d of a host has become %s", port, udpOut)
			}
		}
	}
	in := endpoint(hostA, 443)
	out := g.mapped(tcp(in, server, packets.SYN))
	g.leaves(g.put(tcp(server, out, synAck)), tcp(server, in, synAck))
	g.leaves(g.put(tcp(server2, out, packets.SYN)), tcp(server2, in, packets.SYN))
	g.sound()
}

// Who came by name goes on when the web leaves the address, and over the daemon's restart; nobody new comes in.
func TestWebLeavesOneAddress(t *testing.T) {
	t.Parallel()
	g := servesOnOneAddress(t)
	v := g.visitor(client, fullAbility, fullAbility)
	v.to = endpoint(outbound, 80)
	v.knocks(allPromised)
	v.connects("GET / HTTP/1.1\r\n")
	v.opens()
	g.reopen()
	g.in(g.data.Refresh)
	w := g.visitor(endpoint(remote, 50001), fullAbility, fullAbility)
	w.to = v.to
	w.knocks(allPromised)
	g.in(func() error { return g.data.SetWebAddresses(nil) })
	v.talks()
	p := tcp(endpoint(remote, 50002), v.to, packets.SYN)
	g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	g.in(func() error { return g.data.SetWebAddresses([]netip.Addr{webAddress}) })
	g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
}
