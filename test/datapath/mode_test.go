package datapath

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// far turns receive offload of eth0's far side on or off, and tells the data plane.
func (g *gateway) far(offload string) {
	g.t.Helper()
	check(g.t, g.outside.Do(func() error {
		out, err := exec.Command("ethtool", "-K", "eth0", "gro", offload).CombinedOutput()
		if err != nil {
			return errors.New(string(out))
		}
		return nil
	}))
	g.in(g.data.Refresh)
}

// mode is how eth0 is attached, and why not otherwise.
func (g *gateway) mode() (datapath.Mode, string) {
	g.t.Helper()
	for _, i := range g.data.Interfaces() {
		if i.Name == "eth0" {
			return i.Mode, i.Why
		}
	}
	g.t.Fatal("eth0 is not listed")
	return "", ""
}

// wanted are the modes that the interfaces are to have.
func wanted(eth0 datapath.Mode) option {
	return func(s *setup) { s.Modes = map[string]datapath.Mode{"eth0": eth0} }
}

// A virtual interface is served at tcx, where aggregates come whole, unless XDP is wanted.
func TestModeOfAVirtualInterface(t *testing.T) {
	t.Parallel()
	for wants, want := range map[datapath.Mode]string{
		datapath.Auto: "tcx: a veth hands over aggregates", datapath.XDP: "xdp: interfaces.xdp says so",
		datapath.TCX: "tcx: interfaces.tcx says so",
	} {
		t.Run(string(wants), func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, wanted(wants))
			mode, why := g.mode()
			same(g, "the mode", string(mode)+": "+why, want)
			g.crosses(udp(inA, server), outbound)
		})
	}
}

// The mode follows what the interface takes, and packets pass in each.
func TestModeFollowsTheInterface(t *testing.T) {
	t.Parallel()
	g := newGateway(t, publicLink(netns.GRO(netns.BothEnds, false)), wanted(datapath.XDP))
	out := endpoint(outbound, inA.Port())
	for _, offload := range []string{"off", "on", "off", "on"} {
		g.far(offload)
		mode, why := g.mode()
		if (mode == datapath.XDP) != (offload == "on") || why == "" {
			t.Errorf("with receive offload %s the mode is %s, because %q", offload, mode, why)
		}
		g.crosses(udp(inA, server), outbound)
		if offload == "on" {
			g.leaves(g.put(udp(server, out)), udp(server, inA))
		}
	}
	same(g, "forwarding of eth0", must(g.namespace.Sysctl("net/ipv4/conf/eth0/forwarding"))(t), "1")
}

// An interface that was made anew is attached to before its far side has receive offload,
// and again when it has.
func TestModeOfAnInterfaceMadeAnew(t *testing.T) {
	t.Parallel()
	g := newGateway(t, wanted(datapath.XDP))
	if mode, why := g.mode(); mode != datapath.XDP {
		t.Fatalf("the mode is %s, because %q: this test shows nothing", mode, why)
	}
	g.remake(nil)
	g.far("off")
	if mode, _ := g.mode(); mode != datapath.TCX {
		t.Fatalf("the mode is %s: this test shows nothing", mode)
	}
	g.far("on")
	if mode, why := g.mode(); mode != datapath.XDP {
		t.Errorf("the mode is %s, because %q", mode, why)
	}
	g.crosses(udp(inA, server), outbound)
}

// An interface that is gone is nowhere in the tables, and nobody says that it is served.
func TestInterfaceVanishes(t *testing.T) {
	t.Parallel()
	g := newGateway(t, auto)
	g.in(func() error {
		old, err := netlink.LinkByName("eth0")
		return errors.Join(err, netlink.LinkDel(old))
	})
	for range 2 {
		g.in(g.data.Refresh)
	}
	if mode, why := g.mode(); mode != datapath.Absent || why != "" {
		t.Errorf("the mode is %q, because %q", mode, why)
	}
	for _, i := range g.data.Interfaces() {
		if i.Name == "eth0" && (i.Redirect || i.Ifindex != 0) {
			t.Errorf("%+v", i)
		}
	}
	check(t, g.lab.Veth(g.namespace, "eth0", g.outside, "eth0"))
	check(t, g.namespace.Address("eth0", publicAddress.String()+"/24"))
	check(t, errors.Join(g.namespace.Up("eth0"), g.outside.Up("eth0"), g.namespace.WaitUp()))
	g.in(g.data.Refresh)
	if mode, why := g.mode(); mode != datapath.TCX {
		t.Errorf("back again the mode is %q, because %q", mode, why)
	}
}
