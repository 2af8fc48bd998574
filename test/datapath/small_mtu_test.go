package datapath

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// tooBig is what a router says about a packet, with the MTU of its next hop.
func tooBig(from, to netip.Addr, mtu uint32, original packets.Packet) packets.Packet {
	return packets.NewICMPError(from, to, packets.DestinationUnreachable, fragmentationNeeded, mtu, original, 8)
}

// RFC 5927 section 7: who guesses a session has its sender go on in crumbs. Below what Linux believes nobody inside is told.
func TestSmallMTUFromOutside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.oneToOne(map[netip.Addr]netip.Addr{hostB: alone2})
	g.lend(pool1, 80, service, nil)
	g.put(tcp(client, endpoint(pool1, 80), packets.SYN))
	out, tout := g.mapped(udp(inA, server)), g.mapped(tcp(inA, web, packets.SYN))
	g.put(udp(endpoint(hostB, 5), server))
	g.put(basics["GRE"](hostA, remote))
	for name, c := range map[string]struct {
		host             netip.Addr
		external, inside packets.Packet
	}{
		"UDP":       {hostA, udp(out, server), udp(inA, server)},
		"TCP":       {hostA, tcp(tout, web, packets.ACK), tcp(inA, web, packets.ACK)},
		"from pool": {service.Addr(), tcp(endpoint(pool1, 80), client, packets.ACK), tcp(service, client, packets.ACK)},
		"1:1":       {hostB, udp(endpoint(alone2, 5), server), udp(endpoint(hostB, 5), server)},
		"GRE":       {hostA, basics["GRE"](outbound, remote), basics["GRE"](hostA, remote)},
	} {
		t.Log(name)
		external := c.external.IPv4.Source
		for _, mtu := range []uint32{0, 1, 68, 551} {
			g.dropped(g.put(tooBig(hop, external, mtu, c.external)), "drop_small_mtu")
		}
		for _, mtu := range []uint32{552, 1400, 65535} {
			g.leaves(g.put(tooBig(hop, external, mtu, c.external)), tooBig(hop, c.host, mtu, c.inside))
		}
		// The field is another one's in other errors.
		other := func(to netip.Addr, quoted packets.Packet) packets.Packet {
			return packets.NewICMPError(hop, to, packets.DestinationUnreachable, portUnreachable, 68, quoted, 8)
		}
		g.leaves(g.put(other(external, c.external)), other(c.host, c.inside))
	}
	// What is of no session is that first, and from inside an MTU is believed.
	g.dropped(g.put(tooBig(hop, outbound, 68, udp(endpoint(outbound, 9), server))), "drop_no_session")
	g.leaves(g.put(tooBig(hostA, remote, 68, udp(server, inA))), tooBig(outbound, remote, 68, udp(server, out)))
}

// A route that is so narrow itself is one on which others may be, too; whether its next hop is known or not.
func TestSmallMTUOfARoute(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	narrow := &netlink.Route{Dst: &net.IPNet{IP: remote2.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: router.AsSlice(), MTU: 500, MTULock: true}
	g.in(func() error { return netlink.RouteAdd(narrow) })
	for _, known := range []bool{true, false} {
		if !known { // of sessions that came in, and of all once routes change
			g.data.RoutesChanged()
		}
		out := g.mapped(udp(inA, server2))
		if !known {
			g.data.RoutesChanged()
		}
		g.leaves(g.put(tooBig(hop, outbound, 300, udp(out, server2))), tooBig(hop, hostA, 300, udp(inA, server2)))
		other := g.mapped(udp(inA, server))
		g.dropped(g.put(tooBig(hop, outbound, 300, udp(other, server))), "drop_small_mtu")
	}
}
