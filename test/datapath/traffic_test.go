package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// handed wants the packet left to the kernel as want: translated, its TTL not
// yet decremented.
func (g *gateway) handed(r result, reason string, want packets.Packet) {
	g.t.Helper()
	if r.action != dataplane.Pass || string(r.reason) != reason {
		g.t.Fatalf("%v, %s, want %s", r.action, r.reason, reason)
	}
	want = want.Between(r.packet.Ethernet.Source, r.packet.Ethernet.Destination)
	if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
		g.t.Fatalf("handed to the kernel otherwise:\n%s", diff)
	}
}

func TestNoNeighbour(t *testing.T) {
	t.Parallel()
	g := newGateway(t, strangers)
	out := endpoint(outbound, 40000)
	g.handed(g.put(udp(inA, server)), "forwarded_no_neighbour", udp(out, server))
	g.handed(g.put(udp(server, out)), "forwarded_no_neighbour", udp(server, inA))
	// As soon as the kernel knows them, packets are redirected.
	g.in(func() error {
		neighbour(t, g.public, router, packets.RouterMAC)
		neighbour(t, g.private, hostA, packets.HostMAC)
		return nil
	})
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	g.leaves(g.put(udp(server, out)), udp(server, inA))
}

// Frames of XDP cannot be redirected to an interface that does not take them; socket
// buffers can.
func TestEgressWithoutRedirect(t *testing.T) {
	t.Parallel()
	g := newGateway(t, publicLink(netns.GRO(netns.BothEnds, false)), func(s *setup) { s.Modes = map[string]datapath.Mode{"eth1": datapath.XDP} })
	for _, i := range g.data.Interfaces() {
		if want := i.Side == "private"; i.Redirect != want {
			t.Fatalf("%+v: want redirect %v", i, want)
		}
	}
	out := endpoint(outbound, 40000)
	if atTCX() {
		g.leaves(g.put(udp(inA, server)), udp(out, server))
		return
	}
	g.handed(g.put(udp(inA, server)), "forwarded_by_stack", udp(out, server))
	g.handed(g.put(tcp(inA, web, packets.SYN)), "forwarded_by_stack", tcp(out, web, packets.SYN))
	g.handed(g.put(unreachable(hostA, 3, 0, udp(server, inA), 8)), "forwarded_by_stack", unreachable2(outbound, remote, 3, udp(server, out), 8))
	g.leaves(g.put(udp(server, out)), udp(server, inA))
}

func TestNoRoute(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	check(t, g.namespace.RemoveRoute("default", router.String()))
	g.data.RoutesChanged()
	for _, p := range []packets.Packet{udp(inA, server), udp(inB, server), tcp(inA, web, packets.SYN), echo(hostA, remote, 1)} {
		g.refused(g.put(p), p, "drop_no_route", privateAddress, packets.DestinationUnreachable, 0, 0)
	}
	g.count(1)
	// From outside, a host that is gone; outsiders are told nothing.
	g.in(func() error {
		routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
		for _, route := range routes {
			if route.LinkIndex == g.private {
				err = errors.Join(err, netlink.RouteDel(&route))
			}
		}
		return err
	})
	g.data.RoutesChanged()
	g.dropped(g.put(udp(server, out)), "drop_no_route")
	g.dropped(g.put(udp(server, endpoint(never, 5))), "drop_not_for_us")
	for _, kind := range []int{unix.RTN_BLACKHOLE, unix.RTN_PROHIBIT, unix.RTN_UNREACHABLE} {
		g.in(func() error {
			_, all, _ := net.ParseCIDR("203.0.113.0/24")
			return netlink.RouteReplace(&netlink.Route{Dst: all, Type: kind})
		})
		g.data.RoutesChanged()
		same(g, fmt.Sprint("reason with a route of type ", kind), g.put(udp(inA, server)).reason, "drop_no_route")
	}
}

func TestToTheGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	own := endpoint(publicAddress, 53)
	for _, p := range []packets.Packet{
		udp(client, own), tcp(client, own, packets.SYN), tcp(client, own, packets.ACK), echo(remote, publicAddress, 1),
		udp(inA, endpoint(privateAddress, 53)), udp(inA, own), echo(hostA, privateAddress, 1),
		udp(client, own).Change(firstFragment), udp(client, own).Change(lastFragment),
		udp(client, own).Change(func(p *packets.Packet) { p.IPv4.Protocol = 89 }),
		packets.NewICMP(remote, publicAddress, 13, 0, 0, make([]byte, 12)),
		unreachable(hop, 1, 0, udp(own, client), 8),
		unreachable(hostA, 3, 0, udp(endpoint(privateAddress, 53), inA), 8),
		udp(endpoint(hostA, 68), endpoint(netip.MustParseAddr("255.255.255.255"), 67)),
		udp(client, endpoint(netip.MustParseAddr("224.0.0.5"), 67)),
		udp(inA, endpoint(netip.MustParseAddr("10.0.255.255"), 137)),
	} {
		g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
	}
	// The private side's address is not for the public realm.
	g.dropped(g.put(udp(client, endpoint(privateAddress, 53))), "drop_not_for_us")
	g.dropped(g.put(echo(remote, privateAddress, 1)), "drop_not_for_us")
	g.dropped(g.put(udp(client, inA)), "drop_not_for_us")
	g.count(0)
}

// Between two private networks the kernel routes, whatever the packet is.
func TestInsideToInside(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	other := netip.MustParseAddr("10.9.0.5")
	check(t, g.namespace.Route("10.9.0.0/16", "10.0.0.200"))
	to := endpoint(other, 80)
	for _, p := range []packets.Packet{
		udp(inA, to), tcp(inA, to, packets.SYN), tcp(inA, to, packets.ACK), echo(hostA, other, 1), echoReply(hostA, other, 1),
		unreachable(hostA, 3, 0, udp(to, inA), 8), packets.NewICMP(hostA, other, 13, 0, 0, make([]byte, 12)),
		udp(inA, to).Change(firstFragment), udp(inA, to).Change(lastFragment),
		udp(inA, to).Change(func(p *packets.Packet) { p.IPv4.Protocol = 132 }),
	} {
		g.passed(g.put(p), "inside_to_inside", addressed(p).Bytes())
	}
	g.dropped(g.put(udp(client, to)), "drop_not_for_us")
	g.count(0)
}

func TestARP(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	ask := func(target netip.Addr) packets.Packet {
		return packets.NewARPRequest(packets.RouterMAC, router, target)
	}
	for _, a := range []netip.Addr{pool1, pool2, outbound} {
		r := g.send(true, ask(a).Bytes())
		mac := packets.MAC(must(g.namespace.MAC("eth0"))(t))
		want := packets.NewARPReply(mac, a, packets.RouterMAC, router)
		if diff := frames.Diff(want.Bytes(), r.frame); diff != "" || r.action != dataplane.Redirect || r.reason != "answered_arp" {
			t.Errorf("who has %s: %v, %s\n%s", a, r.action, r.reason, diff)
		}
	}
	for _, a := range []netip.Addr{publicAddress, pool2.Next(), router, hostA} {
		g.passed(g.send(true, ask(a).Bytes()), "to_gateway", ask(a).Bytes())
	}
	reply := packets.NewARPReply(packets.RouterMAC, pool1, packets.GatewayPublicMAC, publicAddress)
	g.passed(g.send(true, reply.Bytes()), "to_gateway", reply.Bytes())
	inside := packets.NewARPRequest(packets.HostMAC, hostA, pool1).Bytes()
	g.passed(g.send(false, inside), "to_gateway", inside)
}

// The kernel answers for what is on an interface.
func TestARPOfASharedAddress(t *testing.T) {
	t.Parallel()
	g := newGateway(t, shared)
	ask := packets.NewARPRequest(packets.RouterMAC, router, outbound).Bytes()
	g.passed(g.send(true, ask), "to_gateway", ask)
}

func TestIPv6(t *testing.T) {
	t.Parallel()
	for _, forward := range []bool{false, true} {
		g := newGateway(t, timeouts(func(s *datapath.Settings) { s.ForwardIPv6 = forward }))
		check(t, g.namespace.EnableIPv6(true))
		check(t, g.namespace.Address("eth0", "2001:db8::1/64"))
		check(t, g.namespace.Address("eth1", "2001:db8:1::1/64"))
		g.in(g.data.Refresh)
		frame := func(to string) []byte {
			return outside(packets.NewUDP(packets.At("[2001:db8::99]:1000"), endpoint(netip.MustParseAddr(to), 53), "x")).Bytes()
		}
		for _, own := range []string{"2001:db8::1", "ff02::1", "ff02::1:ff00:1"} {
			g.passed(g.send(true, frame(own)), "to_gateway", frame(own))
			g.passed(g.send(false, frame(own)), "to_gateway", frame(own))
		}
		g.passed(g.send(false, frame("2001:db8:1::1")), "to_gateway", frame("2001:db8:1::1"))
		for _, other := range []string{"2001:db8::2", "ff05::1", "2001:db8:1::5"} {
			for _, public := range []bool{true, false} {
				r := g.send(public, frame(other))
				if forward {
					g.passed(r, "forwarded_ipv6", frame(other))
				} else {
					g.dropped(r, "drop_ipv6")
				}
			}
		}
	}
}

func TestSpoofedSource(t *testing.T) {
	t.Parallel()
	g := newGateway(t, func(s *setup) { s.Outbound = []netip.Addr{outbound, pool2.Next()} })
	g.lend(pool1, 80, service, nil)
	out := g.mapped(udp(inA, server))
	for _, from := range []netip.Addr{outbound, pool1, pool2, pool2.Next(), hostA, hostB, privateAddress, publicAddress} {
		g.dropped(g.fromOutside(outside(tcp(endpoint(from, 5), lent, packets.SYN))), "drop_spoofed_source")
		g.dropped(g.fromOutside(outside(udp(endpoint(from, 5), out))), "drop_spoofed_source")
	}
	for _, from := range []netip.Addr{outbound, pool1} {
		g.dropped(g.fromInside(inside(udp(endpoint(from, 5), server))), "drop_spoofed_source")
	}
	g.count(1)
}
