package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// hook is what a test sees of the guard in a kernel without tcx.
type hook struct{ qdiscs, filters int }

func hookOf(name string) (h hook, err error) {
	iface, err := netlink.LinkByName(name)
	if err != nil {
		return h, err
	}
	list, err := netlink.QdiscList(iface)
	for _, q := range list {
		if q.Type() == "clsact" {
			h.qdiscs++
		}
	}
	filters, err2 := netlink.FilterList(iface, netlink.HANDLE_MIN_EGRESS)
	h.filters = len(filters)
	return h, errors.Join(err, err2)
}

// Kernels before 6.6 have no tcx: there the guard is a filter of clsact, which goes with it
// where it was made for it, and stays where somebody else has it.
func TestGuardWithoutTCX(t *testing.T) {
	for name, theirs := range map[string]bool{"clsact of our own": false, "somebody's clsact": true} {
		t.Run(name, func(t *testing.T) { guardWithoutTCX(t, theirs) })
	}
}

func guardWithoutTCX(t *testing.T, theirs bool) {
	l := lab.New(t, "egress")
	gateway, err := l.Namespace("gateway")
	fine(t, err)
	outside, err := l.Namespace("outside")
	fine(t, err)
	fine(t, l.Veth(gateway, "eth0", outside, "eth0"))
	fine(t, l.Veth(gateway, "eth1", outside, "eth1"))
	fine(t, gateway.Address("eth0", "198.18.0.1/24"))
	fine(t, gateway.Address("eth1", "10.0.0.1/24"))
	fine(t, outside.Address("eth0", "198.18.0.9/24"))
	for _, ifname := range []string{"eth0", "eth1"} {
		fine(t, errors.Join(gateway.Up(ifname), outside.Up(ifname)))
	}
	fine(t, gateway.WaitUp())
	if theirs {
		fine(t, gateway.Command(t.Context(), "tc", "qdisc", "add", "dev", "eth0", "clsact").Run())
	}
	options := Options{Public: []string{"eth0"}, Private: []string{"eth1"}, Capacity: 1024, Outbound: []netip.Addr{netip.MustParseAddr("198.18.0.2")},
		Instance: fmt.Sprintf("egress-%d-%v", os.Getpid(), theirs)}
	var d *Datapath
	start := func() error {
		var err error
		if d, err = Open(options); err != nil {
			return err
		}
		d.old = true
		return d.Attach()
	}
	want := hook{1, 1}
	expect := func(want hook) {
		t.Helper()
		var got hook
		fine(t, gateway.Do(func() (err error) { got, err = hookOf("eth0"); return err }))
		if got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	fine(t, gateway.Do(start))
	defer func() { _ = gateway.Do(func() error { return d.Close(false) }) }()
	for range 2 {
		expect(want)
		if leavesFrom(t, gateway, outside, "10.0.0.1") {
			t.Error("a private source leaves")
		}
		counted, err := d.Counters()
		if fine(t, err); counted["drop_private_source"] == 0 {
			t.Error("the drop is not counted")
		}
		fine(t, gateway.Do(func() error { return errors.Join(d.Close(true), start()) }))
	}
	expect(want)
	fine(t, gateway.Do(func() error { return d.Close(false) }))
	want.filters--
	if !theirs {
		want.qdiscs--
	}
	expect(want)
	if !leavesFrom(t, gateway, outside, "10.0.0.1") {
		t.Error("the guard stays when the data plane is gone")
	}
}

// leavesFrom reports whether UDP that the gateway sends from an address of its own arrives
// before what it sends from its public one.
func leavesFrom(t *testing.T, gateway, outside *netns.Namespace, from string) bool {
	t.Helper()
	to, err := outside.ListenPacket("udp4", "198.18.0.9:5353")
	fine(t, err)
	defer func() { _ = to.Close() }()
	for _, a := range []string{from, "198.18.0.1"} {
		socket, err := gateway.ListenPacket("udp4", a+":0")
		fine(t, err)
		if _, err = socket.WriteTo([]byte(a), to.LocalAddr()); !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOBUFS) {
			fine(t, err)
		}
		fine(t, socket.Close())
	}
	fine(t, to.SetReadDeadline(time.Now().Add(10*time.Second)))
	buffer := make([]byte, 64)
	_, sender, err := to.ReadFrom(buffer)
	fine(t, err)
	return sender.(*net.UDPAddr).IP.String() == from
}

func fine(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
