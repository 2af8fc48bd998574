package datapath

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// single is a machine with nobody behind it: eth1 is none of its interfaces.
func single(s *setup) { s.Single, s.Private, s.Outbound = true, nil, []netip.Addr{} }

// keeps has something done to a single machine, which leaves its settings at every moment as they are: the kernel tells of each change.
func (g *gateway) keeps(forwards, when string, do func()) {
	g.t.Helper()
	told := g.netconf()
	do()
	if n := told(); n != 0 {
		g.t.Errorf("%s: the kernel tells of %d changes of settings", when, n)
	}
	for setting, want := range map[string]string{"forwarding": forwards, "accept_local": "0", "rp_filter": "1"} {
		same(g, when+": "+setting, must(g.namespace.Sysctl("net/ipv4/conf/eth0/"+setting))(g.t), want)
	}
}

// has gives the machine settings of its own.
func (g *gateway) has(forwards string) {
	g.t.Helper()
	check(g.t, g.namespace.SetSysctl("net/ipv4/ip_forward", forwards))
	check(g.t, g.namespace.SetSysctl("net/ipv4/conf/eth0/rp_filter", "1"))
}

// A single machine keeps its settings, whether it forwards or not, while an interface is attached to in another mode, or by a
// daemon that comes after.
func TestSingleMachineKeepsItsSettings(t *testing.T) {
	t.Parallel()
	for _, forwards := range []string{"0", "1"} {
		t.Run("forwarding "+forwards, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, single, publicLink(netns.GRO(netns.BothEnds, false)), wanted(datapath.XDP))
			g.has(forwards)
			for _, offload := range []string{"on", "off", "on"} {
				before, _ := g.mode()
				g.keeps(forwards, "receive offload "+offload, func() { g.far(offload) })
				if now, _ := g.mode(); now == before {
					t.Fatalf("the mode stays %s: this test shows nothing", now)
				}
			}
			g.keeps(forwards, "adopted", g.reopen)
			g.keeps(forwards, "detached", func() { g.in(g.data.Detach) })
		})
	}
}

// So it does where there is no place for a program, and when there is again.
func TestSingleMachineWithoutAProgram(t *testing.T) {
	t.Parallel()
	g := newGateway(t, single, auto)
	g.remake(nil)
	g.has("1") // new interfaces have others
	foreign := g.crowd()
	g.keeps("1", "crowded", func() {
		if err := g.namespace.Do(g.data.Refresh); err == nil {
			t.Fatal("it is attached beside 64 others: this test shows nothing")
		}
	})
	for _, l := range foreign {
		check(t, l.Close())
	}
	g.keeps("1", "attached at last", func() { g.in(g.data.Refresh) })
}

// What a gateway has changed is put back when the next daemon protects the machine alone.
func TestSingleMachineAfterAGateway(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.options.Single, g.options.Private = true, nil
	g.reopen()
	for setting, want := range map[string]string{"forwarding": "0", "accept_local": "0", "rp_filter": "0"} {
		same(g, setting, must(g.namespace.Sysctl("net/ipv4/conf/eth0/"+setting))(t), want)
	}
}

// crowd takes all places for programs at eth0.
func (g *gateway) crowd() (foreign []link.Link) {
	g.t.Helper()
	g.in(func() error {
		for range 100 { // the kernel takes 64
			l, err := link.AttachTCX(link.TCXOptions{Program: g.foreign(), Interface: g.public, Attach: ebpf.AttachTCXIngress})
			if err != nil {
				return nil //nolint:nilerr // there is no place left
			}
			foreign = append(foreign, l)
		}
		return errors.New("the kernel takes any number of programs: this test shows nothing")
	})
	return foreign
}

// netconf listens to what the kernel tells of changed settings of interfaces, and returns how many changes it has told of.
func (g *gateway) netconf() (told func() int) {
	g.t.Helper()
	var socket *nl.NetlinkSocket
	g.in(func() (err error) {
		socket, err = nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_IPV4_NETCONF)
		return err
	})
	check(g.t, socket.SetReceiveTimeout(&unix.Timeval{Usec: int64(time.Millisecond / time.Microsecond)}))
	return func() (changes int) {
		defer socket.Close()
		for range 1000 { // more were no surprise to anybody
			messages, _, err := socket.Receive()
			if err != nil {
				return changes
			}
			for _, m := range messages {
				if m.Header.Type == unix.RTM_NEWNETCONF {
					changes++
				}
			}
		}
		return changes
	}
}
