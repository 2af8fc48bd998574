package datapath

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// A route's MTU is its destinations', not their neighbours', whichever of them
// was asked for last.
func TestMTUOfOneDestination(t *testing.T) {
	t.Parallel()
	const narrow = 600
	for name, order := range map[string][]packets.Packet{
		"the narrow one last":  {udp(inA, server), udp(inA, server2)},
		"the narrow one first": {udp(inA, server2), udp(inA, server)},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			g.in(func() error {
				// Locked: the kernel forwards by a route's MTU only then.
				return netlink.RouteAdd(&netlink.Route{
					Dst: &net.IPNet{IP: remote2.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: router.AsSlice(), MTU: narrow, MTULock: true,
				})
			})
			for _, p := range order {
				g.mapped(p)
			}
			for range 2 {
				p := big(inA, server, 1400, true)
				g.leaves(g.put(p), big(endpoint(outbound, inA.Port()), server, 1400, true))
				p = big(inA, server2, narrow+1, true)
				g.refused(g.put(p), p, "drop_too_big", privateAddress, packets.DestinationUnreachable, fragmentationNeeded, narrow)
				p = big(inA, server2, narrow, true)
				g.leaves(g.put(p), big(endpoint(outbound, inA.Port()), server2, narrow, true))
			}
		})
	}
}

// What goes to a next hop of IPv6 (RFC 5549) the kernel sends; what is too big for it is told.
func TestNextHopOfIPv6(t *testing.T) {
	t.Parallel()
	const narrow = 1400
	g := newGateway(t)
	check(t, g.namespace.EnableIPv6(true))
	hop := netip.MustParseAddr("fe80::1")
	g.in(func() error {
		neighbour(t, g.public, hop, packets.RouterMAC)
		return errors.Join(setMTU("eth0", narrow), netlink.RouteAdd(&netlink.Route{
			LinkIndex: g.public, Dst: &net.IPNet{IP: remote2.AsSlice(), Mask: net.CIDRMask(32, 32)},
			Via: &netlink.Via{AddrFamily: unix.AF_INET6, Addr: hop.AsSlice()},
		}))
	})
	out := endpoint(outbound, inA.Port())
	for range 2 {
		g.handed(g.put(udp(inA, server2)), "forwarded_by_stack", udp(out, server2))
		p := big(inA, server2, narrow+1, true)
		g.refused(g.put(p), p, "drop_too_big", privateAddress, packets.DestinationUnreachable, fragmentationNeeded, narrow)
	}
}

// A rule of the host that looks at sources decides by the packet's own, before
// it is translated, whether it leaves; so it is also after the rule is gone.
func TestRouteBySource(t *testing.T) {
	t.Parallel()
	const table = 99
	g := newGateway(t)
	rule := netlink.NewRule()
	rule.Src = &net.IPNet{IP: hostA.AsSlice(), Mask: net.CIDRMask(32, 32)}
	rule.Table = table
	change := func(by func(*netlink.Rule) error) {
		g.in(func() error { return errors.Join(by(rule), g.data.Refresh()) })
		g.data.RoutesChanged()
	}
	g.in(func() error {
		return netlink.RouteAdd(&netlink.Route{Dst: &net.IPNet{IP: remote.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: hostB.AsSlice(), Table: table})
	})
	p := udp(inA, server)
	change(netlink.RuleAdd)
	g.passed(g.put(p), "inside_to_inside", inside(p).Bytes())
	g.mapped(udp(inB, server))
	change(netlink.RuleDel)
	g.leaves(g.put(p), udp(endpoint(outbound, inA.Port()), server))
}

// While no daemon tells of it new sessions, too, hear of a changed route, a second
// later: what was remembered for their addresses is asked for again.
func TestRouteChangesUntold(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.mapped(udp(inA, server))
	check(t, g.namespace.RemoveRoute("default", router.String()))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for port := uint16(1000); ; port++ {
		switch reason := g.put(udp(inA, endpoint(remote, port))).reason; reason {
		case "drop_no_route":
			return
		case "forwarded":
		default:
			t.Fatalf("%s, want forwarded until it is drop_no_route", reason)
		}
		select {
		case <-ctx.Done():
			t.Fatal("new sessions still go where there is no route")
		case <-time.After(20 * time.Millisecond):
		}
	}
}
