package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// takes changes an address of the public interface, and has the gateway look and follow.
func (b *rig) takes(change func(netlink.Link, *netlink.Addr) error, prefix string) {
	b.t.Helper()
	b.sees(change, prefix)
	b.must(b.namespace.Do(func() error {
		machineServices{b.Daemon}.readdress(b.t.Context())
		return nil
	}))
}

// sees changes an address of the public interface, and has the gateway look.
func (b *rig) sees(change func(netlink.Link, *netlink.Addr) error, prefix string) {
	b.t.Helper()
	address, err := netlink.ParseAddr(prefix)
	b.must(err)
	b.must(b.namespace.Do(func() error {
		link, err := netlink.LinkByName("eth0")
		if err == nil {
			err = change(link, address)
		}
		if err != nil {
			return err
		}
		b.outbound.Look()
		return nil
	}))
}

func (b *rig) leavesBy() netip.Addr {
	b.t.Helper()
	a, err := dataplane.OutboundOf(b.data, netip.MustParseAddr("10.0.0.9"))
	b.must(err)
	return a
}

func (b *rig) arp(a string) model.Reason {
	b.t.Helper()
	return b.send(true, packets.NewARPRequest(packets.RouterMAC, netip.MustParseAddr("198.18.0.254"), netip.MustParseAddr(a)))
}

func (b *rig) follows(want string) {
	b.t.Helper()
	if got := fmt.Sprint(b.outbound.Addresses()); got != "["+want+"]" {
		b.t.Errorf("the outbound addresses are %s, want %s", got, want)
	}
	if got := fmt.Sprint(b.view.Load().outbound); got != "["+want+"]" {
		b.t.Errorf("what is in force has the outbound addresses %s, want %s", got, want)
	}
}

func TestOutboundFollowsAnInterface(t *testing.T) {
	t.Parallel()
	const named = "outbound: {addresses: [198.18.0.2, eth0]}\n"
	for name, c := range map[string]struct{ text, first, added, swapped, none string }{
		"by name":               {text + "outbound: {addresses: [eth0]}\n", "198.18.0.1", "198.18.0.1 198.18.0.50", "198.18.0.50", ""},
		"beside an address":     {text + named, "198.18.0.2 198.18.0.1", "198.18.0.2 198.18.0.1 198.18.0.50", "198.18.0.2 198.18.0.50", "198.18.0.2"},
		"by default, its first": {text, "198.18.0.1", "198.18.0.1", "198.18.0.50", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t, c.text)
			b.follows(c.first)
			b.takes(netlink.AddrAdd, "198.18.0.50/32")
			b.takes(netlink.AddrAdd, "169.254.7.7/16") // nobody outside can answer
			b.takes(netlink.AddrAdd, "10.0.7.7/32")    // RFC 4787 REQ-7: a host inside may have it
			b.follows(c.added)
			b.takes(netlink.AddrDel, "198.18.0.1/24")
			b.follows(c.swapped)
			b.takes(netlink.AddrDel, "198.18.0.50/32")
			b.follows(c.none)
			status, err := b.Status()
			b.must(err)
			waits := strings.Contains(fmt.Sprint(status.Warnings), "no outbound address: hosts inside reach nobody outside until eth0")
			if waits != (c.none == "") {
				t.Errorf("with the addresses [%s] the warnings are %q", c.none, status.Warnings)
			}
			b.takes(netlink.AddrAdd, "198.18.0.51/32")
			if !strings.HasSuffix(fmt.Sprint(b.outbound.Addresses()), "198.18.0.51]") {
				t.Errorf("the outbound addresses are %s", b.outbound.Addresses())
			}
		})
	}
}

// A reload that waits, say for a disk that stalls, holds no look up; the rest follows when it is over.
func TestOutboundIsFollowedWhileAReloadWaits(t *testing.T) {
	t.Parallel()
	b := newRig(t, "outbound: {addresses: [eth0]}\n"+text)
	waits, disk := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(waits) })
	b.services = slices.Insert(slices.Clone(b.services), 0, service{Prepare: func(*draft) (change, error) {
		return change{Settle: func() { begin(); <-disk }}, nil
	}})
	var reloading sync.WaitGroup
	defer reloading.Wait()
	end := sync.OnceFunc(func() { close(disk) })
	defer end()
	reloading.Go(func() {
		if err := b.reloadWith(b.text + otherHost("b", 101)); err != nil {
			t.Error(err)
		}
	})
	<-waits
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		b.sees(netlink.AddrAdd, "198.18.0.50/32")
	}()
	select {
	case <-looked:
	case <-time.After(20 * time.Second):
		end()
		<-looked
		t.Fatal("a look waits for a reload")
	}
	if got := fmt.Sprint(b.outbound.Addresses()); got != "[198.18.0.1 198.18.0.50]" {
		t.Errorf("while a reload waits the outbound addresses are %s", got)
	}
	end()
	reloading.Wait()
	b.services = b.services[1:]
	b.takes(netlink.AddrAdd, "198.18.0.51/32")
	b.follows("198.18.0.1 198.18.0.50 198.18.0.51")
}

// An interface that is not even there is waited for.
func TestOutboundWaitsForAnInterface(t *testing.T) {
	t.Parallel()
	b := newRig(t, text+"outbound: {addresses: [ppp0]}\n")
	b.follows("")
	if a := b.leavesBy(); a.IsValid() {
		t.Errorf("hosts leave by %s", a)
	}
	b.must(b.reloadWith(text + "outbound: {addresses: [eth0]}\n"))
	b.follows("198.18.0.1")
	if a := b.leavesBy(); a.String() != "198.18.0.1" {
		t.Errorf("hosts leave by %s", a)
	}
}

// What dnat has of an address goes with it: it is not answered for as one of dnat's own, and comes back.
func TestOutboundAddressWithDnatLeaves(t *testing.T) {
	t.Parallel()
	b := newRig(t, text+`outbound: {addresses: [eth0], filtering: endpoint-independent}
chains: [{name: web, match: {direction: in, to: 198.18.0.50, protocol: tcp, port: 80}, functions: [{use: dnat, to: 10.0.0.100}]}]
`)
	if reason := b.arp("198.18.0.50"); reason != "answered_arp" {
		t.Errorf("an address that no interface had yet is dnat's own: %s", reason)
	}
	for range 2 {
		b.takes(netlink.AddrAdd, "198.18.0.50/32")
		b.follows("198.18.0.1 198.18.0.50")
		b.takes(netlink.AddrDel, "198.18.0.50/32")
		b.follows("198.18.0.1")
		if reason := b.arp("198.18.0.50"); reason != "to_gateway" {
			t.Errorf("ARP for an address that has left: %s", reason)
		}
	}
}

func TestReloadAddsAndRemovesOutboundAddresses(t *testing.T) {
	t.Parallel()
	with := func(addresses string) string { return text + "outbound: {addresses: [" + addresses + "]}\n" }
	b := newRig(t, with("198.18.0.2"))
	b.routed()
	b.must(b.namespace.Neighbour("eth0", netip.MustParseAddr("198.18.0.254"), packets.RouterMAC[:]))
	host, server := netip.MustParseAddrPort("10.0.0.100:4000"), netip.MustParseAddrPort("203.0.113.9:53")
	passes := func(wanted string) {
		t.Helper()
		if reason := b.send(false, packets.NewUDP(host, server, "")); reason != "forwarded" {
			t.Errorf("a packet from inside ended with %s", reason)
		}
		if got := b.leavesBy(); wanted != "" && got.String() != wanted {
			t.Errorf("hosts leave by %s, want %s", got, wanted)
		}
	}
	passes("198.18.0.2")
	b.must(b.reloadWith(with("198.18.0.2, 198.18.0.3")))
	passes("")
	if sessions := b.externals(); sessions != "198.18.0.2 " {
		t.Errorf("sessions by %s: the host has moved", sessions)
	}
	b.must(b.reloadWith(with("198.18.0.3")))
	if sessions := b.externals(); sessions != "" {
		t.Errorf("sessions by %s stand", sessions)
	}
	passes("198.18.0.3")
	if reason := b.arp("198.18.0.2"); reason != "to_gateway" {
		t.Errorf("ARP for what was removed: %s", reason)
	}
	err := b.reloadWith(with("198.18.0.3, 198.18.0.4, 198.18.0.5, 198.18.0.6"))
	if err == nil || !strings.Contains(err.Error(), "4 addresses, but there are slots for 3: raise outbound.slots") {
		t.Errorf("a reload beyond the slots: %v", err)
	}
	b.follows("198.18.0.3")
	passes("198.18.0.3")
}

// externals are the outside addresses of all sessions.
func (b *rig) externals() (text string) {
	b.t.Helper()
	b.must(b.data.Sessions(func(s datapath.Session) { text += s.External.Addr().String() + " " }))
	return text
}

// A daemon that comes after the address has changed finds it, and ends what its predecessor left.
func TestOutboundAddressChangedWithoutDaemon(t *testing.T) {
	t.Parallel()
	b := newRig(t, text+"outbound: {addresses: [eth0]}\n")
	b.must(b.namespace.Do(func() error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		address, _ := netlink.ParseAddr("198.18.0.50/32")
		return netlink.AddrAdd(link, address)
	}))
	b.restart(true, "")
	if !b.data.Adopted() {
		t.Fatal("the data plane was not adopted")
	}
	b.follows("198.18.0.1 198.18.0.50")
}
