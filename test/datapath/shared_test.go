package datapath

import (
	"context"
	"net/netip"
	"strconv"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// The gateway's own sockets keep their ports on an address that NAT shares.
func TestPortsOfOwnSockets(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	for _, network := range []string{"udp", "tcp"} {
		for _, address := range []string{"0.0.0.0:5353", outbound.String() + ":853"} {
			if network == "udp" {
				defer must(g.namespace.ListenPacket(network, address))(t).Close()
			} else {
				defer must(g.namespace.Listen(network, address))(t).Close()
			}
		}
	}
	for n := range 20 {
		for _, port := range []uint16{5353, 853} {
			from := endpoint(host(n), port)
			if out := g.mapped(udp(from, server)); out.Port() == port {
				t.Errorf("UDP port %d is a socket's and became %s's", port, from)
			}
			if out := g.mapped(tcp(from, web, packets.SYN)); out.Port() == port {
				t.Errorf("TCP port %d is a socket's and became %s's", port, from)
			}
		}
	}
	for _, p := range []packets.Packet{
		udp(client, endpoint(outbound, 5353)), udp(client, endpoint(outbound, 853)), tcp(client, endpoint(outbound, 853), packets.SYN),
	} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
}

// Ports that the kernel gives to sockets that ask for none are never taken.
func TestEphemeralPortsAreReserved(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	first, last := 32768, 60999 // Linux's default, which a new namespace has
	for n := range 300 {
		if port := int(g.mapped(udp(endpoint(host(n), 40000), server)).Port()); port >= first && port <= last {
			t.Fatalf("port %d is the kernel's", port)
		}
	}
	c := must(g.namespace.DialContext(context.Background(), "udp", netip.AddrPortFrom(router, 9).String()))(t)
	defer c.Close()
	own := netip.MustParseAddrPort(c.LocalAddr().String())
	if int(own.Port()) < first || int(own.Port()) > last {
		t.Fatalf("the kernel gave out port %s", strconv.Itoa(int(own.Port())))
	}
}

// What a mapping holds is not the gateway's: no stranger's packet to it reaches
// the stack, which would answer.
func TestMappedPortIsNotTheGateways(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	in := endpoint(hostA, 5000)
	out := g.mapped(udp(in, server))
	tout := g.mapped(tcp(in, web, packets.SYN))
	same(g, "address", out.Addr(), outbound)
	g.leaves(g.put(udp(server, out)), udp(server, in))
	g.dropped(g.put(udp(server2, out)), "drop_filtered")
	g.dropped(g.put(tcp(server2, tout, packets.SYN)), "drop_filtered")
	g.dropped(g.put(tcp(server2, tout, packets.ACK)), "drop_not_syn")
	for _, p := range []packets.Packet{
		udp(server, endpoint(outbound, 5001)), tcp(server, endpoint(outbound, 5001), packets.SYN), echo(remote, outbound, 3),
		echoReply(remote, outbound, 3), unreachable(hop, 1, 0, udp(endpoint(outbound, 60000), server), 8),
		packets.NewICMP(remote, outbound, 13, 0, 0, make([]byte, 12)),
		udp(server, endpoint(outbound, 9)).Change(func(p *packets.Packet) { p.IPv4.Protocol = model.Protocol(89) }),
		udp(server, endpoint(outbound, 9)).Change(firstFragment),
	} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
}
