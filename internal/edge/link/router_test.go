package link

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// inside gives an edge the sockets of a namespace.
func (e *edge) inside(n *netns.Namespace, address string) {
	e.address = netip.AddrPortFrom(netip.MustParseAddr(address), 48001)
	e.options.Listen = func() (l net.Listener, err error) {
		err = n.Do(func() error { l, err = net.Listen("tcp4", e.address.String()); return err })
		return l, err
	}
	e.options.Dial = func(ctx context.Context, to netip.AddrPort) (c net.Conn, err error) {
		err = n.Do(func() error { c, err = new(net.Dialer).DialContext(ctx, "tcp4", to.String()); return err })
		return c, err
	}
	e.options.Tunnel = func() (c net.PacketConn, err error) {
		err = n.Do(func() error {
			c, err = ListenTunnel(context.Background(), netip.AddrPortFrom(e.address.Addr(), wire.GENEVEPort))
			return err
		})
		return c, err
	}
}

// A router whose far side is narrower, and which says nothing of it: both ends find out, the one whose own interface is narrow, too;
// and a kernel that believes in a much smaller path, as after a forged message, changes nothing.
func TestSilentRouter(t *testing.T) {
	t.Parallel()
	l := lab.New(t, "pathmtu")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []*netns.Namespace
	for _, name := range []string{"a", "router", "b"} {
		n, err := l.Namespace(name)
		must(err)
		all = append(all, n)
	}
	left, router, right := all[0], all[1], all[2]
	must(l.Veth(left, "eth0", router, "left"))
	must(l.Veth(right, "eth0", router, "right", netns.MTU(1400)))
	must(router.Up("left"))
	must(router.Up("right"))
	must(router.Address("left", "198.18.1.254/24"))
	must(router.Address("right", "198.18.2.254/24"))
	must(router.SetSysctl("net/ipv4/ip_forward", "1"))
	nft := router.Command(t.Context(), "nft", "table ip silent { chain out { type filter hook output priority 0; ip protocol icmp drop; }; }")
	if out, err := nft.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s", err, out)
	}
	a, b := newEdge(t, 1), newEdge(t, 2)
	for _, side := range []struct {
		n               *netns.Namespace
		e               *edge
		address, router string
	}{{left, a, "198.18.1.1", "198.18.1.254"}, {right, b, "198.18.2.1", "198.18.2.254"}} {
		must(side.n.Up("eth0"))
		must(side.n.Address("eth0", side.address+"/24"))
		must(side.n.WaitUp())
		if out, err := side.n.Command(t.Context(), "ip", "route", "add", "default", "via", side.router, "mtu", "600").CombinedOutput(); err != nil {
			t.Fatalf("route: %v: %s", err, out)
		}
		side.e.inside(side.n, side.address)
	}
	must(router.WaitUp())
	a.knows(b)
	b.knows(a)
	b.start(t)
	a.start(t)
	for _, e := range []*edge{a, b} {
		e.await(t, "1352", func() bool { return slices.Contains(e.mtu, 1352) })
		if e.mtu[len(e.mtu)-1] != 1352 {
			t.Errorf("%s: told %v", e.name, e.mtu)
		}
	}
}
