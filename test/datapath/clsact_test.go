package datapath

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
)

// withoutTCX is a kernel before 6.6.
func withoutTCX(s *setup) {
	auto(s)
	s.WithoutTCX = true
}

// clsactOf is whether an interface of the gateway has clsact, and how many filters at both its ends.
func (g *gateway) clsactOf(name string) (there bool, filters int) {
	g.t.Helper()
	g.in(func() error {
		iface := must(netlink.LinkByName(name))(g.t)
		for _, q := range must(netlink.QdiscList(iface))(g.t) {
			there = there || q.Type() == "clsact"
		}
		for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
			filters += len(must(netlink.FilterList(iface, parent))(g.t))
		}
		return nil
	})
	return there, filters
}

// Programs that are filters see what those at tcx do, on links of every kind.
func TestSocketBuffersWithoutTCX(t *testing.T) {
	t.Parallel()
	for name, bare := range allKinds {
		t.Run(name, func(t *testing.T) { t.Parallel(); socketBuffersOfEveryKind(t, bare, withoutTCX) })
	}
}

// The mode says it, beside a driver's XDP too.
func TestModeWithoutTCX(t *testing.T) {
	t.Parallel()
	g := newGateway(t, withoutTCX, wanted(datapath.XDP))
	modes := map[string]datapath.Mode{}
	for _, i := range g.data.Interfaces() {
		modes[i.Name] = i.Mode
		if i.Name == "eth1" {
			same(g, "why", i.Why, "a veth hands over aggregates; this kernel has no tcx")
		}
	}
	same(g, "mode of eth0", modes["eth0"], datapath.XDP)
	same(g, "mode of eth1", modes["eth1"], datapath.CLSACT)
	g.crosses(udp(inA, server), outbound)
}

// Where somebody else has a filter clsact stays, and its filter with it.
func TestSomebodysFilterStays(t *testing.T) {
	t.Parallel()
	g := newGateway(t, withoutTCX)
	foreign := &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: g.private, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Priority: 7, Protocol: unix.ETH_P_ALL},
		Fd:          g.foreign().FD(), Name: "foreign", DirectAction: true,
	}
	g.in(func() error { return netlink.FilterReplace(foreign) })
	g.crosses(udp(inA, server), outbound)
	g.in(func() error { return g.data.Close(false) })
	for name, want := range map[string]int{"eth0": 0, "eth1": 1} {
		there, filters := g.clsactOf(name)
		same(g, "filters of "+name, filters, want)
		same(g, "clsact of "+name, there, want > 0)
	}
}

// An interface that is made anew, or has another name, has its filter back, or keeps none.
func TestInterfacesWithoutTCX(t *testing.T) {
	t.Parallel()
	g := newGateway(t, withoutTCX)
	g.remake(nil)
	g.in(g.data.Refresh)
	g.crosses(udp(inA, server), outbound)
	g.rename("eth1", "other")
	check(t, g.lab.Veth(g.namespace, "eth1", g.inside, "eth9"))
	g.in(g.data.Refresh)
	if there, filters := g.clsactOf("other"); there || filters > 0 {
		t.Errorf("the old one has clsact: %v, with %d filters", there, filters)
	}
	if _, filters := g.clsactOf("eth1"); filters != 1 {
		t.Errorf("the new one has %d filters", filters)
	}
}

// One that has got another name while no daemon ran is left by the next.
func TestRenamedWhileNoDaemonRan(t *testing.T) {
	t.Parallel()
	g := newGateway(t, withoutTCX)
	g.in(func() error { return g.data.Close(true) })
	g.rename("eth1", "other")
	check(t, g.lab.Veth(g.namespace, "eth1", g.inside, "eth9"))
	g.in(func() (err error) {
		g.data, err = datapath.Open(g.options)
		return errors.Join(err, g.data.Attach())
	})
	if there, filters := g.clsactOf("other"); there || filters > 0 {
		t.Errorf("the old one has clsact: %v, with %d filters", there, filters)
	}
	same(g, "forwarding of the old one", must(g.namespace.Sysctl("net/ipv4/conf/other/forwarding"))(t), "0")
}
