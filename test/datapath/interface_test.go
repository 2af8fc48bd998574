package datapath

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Whoever writes ip_forward sets forwarding on every interface with it; a
// refresh puts back what the data plane needs.
func TestForwardingIsPutBack(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	for _, value := range []string{"1", "0"} {
		check(t, g.namespace.SetSysctl("net/ipv4/ip_forward", value))
	}
	for setting, value := range map[string]string{"accept_local": "0", "rp_filter": "1"} {
		check(t, g.namespace.SetSysctl("net/ipv4/conf/eth0/"+setting, value))
	}
	g.in(g.data.Refresh)
	for _, name := range []string{"eth0", "eth1"} {
		for setting, want := range map[string]string{"forwarding": "1", "accept_local": "1", "rp_filter": "2"} {
			same(g, setting+" of "+name, must(g.namespace.Sysctl("net/ipv4/conf/"+name+"/"+setting))(t), want)
		}
	}
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.leaves(g.put(udp(inB, server)), udp(endpoint(outbound, inB.Port()), server)) // asks for its way anew
}

// And at the end the host is as it was before the data plane came.
func TestSettingsOfTheHostReturn(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	check(t, g.namespace.SetSysctl("net/ipv4/ip_forward", "1"))
	check(t, g.namespace.SetSysctl("net/ipv4/ip_forward", "0"))
	g.in(g.data.Refresh)
	g.in(func() error { return g.data.Close(false) })
	for _, name := range []string{"eth0", "eth1"} {
		for _, setting := range []string{"forwarding", "accept_local"} {
			same(g, setting+" of "+name, must(g.namespace.Sysctl("net/ipv4/conf/"+name+"/"+setting))(t), "0")
		}
	}
}

// remake makes eth0 anew, with the MAC where it is not nil, and what stood on
// it; the data plane is not told.
func (g *gateway) remake(mac net.HardwareAddr) {
	g.t.Helper()
	g.in(func() error {
		old, err := netlink.LinkByName("eth0")
		return errors.Join(err, netlink.LinkDel(old))
	})
	check(g.t, g.lab.Veth(g.namespace, "eth0", g.outside, "eth0"))
	g.in(func() error {
		iface, err := netlink.LinkByName("eth0")
		if err != nil || mac == nil {
			return err
		}
		return netlink.LinkSetHardwareAddr(iface, mac)
	})
	check(g.t, g.namespace.Address("eth0", publicAddress.String()+"/24"))
	check(g.t, g.namespace.Up("eth0"))
	check(g.t, g.outside.Up("eth0"))
	check(g.t, g.namespace.WaitUp())
	check(g.t, g.namespace.Route("default", router.String()))
	g.in(func() error {
		g.public = ifindex(g.t, "eth0")
		neighbour(g.t, g.public, router, packets.RouterMAC)
		return nil
	})
}

// An interface that was made anew is the old one in all but its number.
func TestInterfaceMadeAnew(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	before := g.public
	g.remake(must(g.namespace.MAC("eth0"))(t))
	if g.public == before {
		t.Fatal("the new interface has the old one's number: this test shows nothing")
	}
	g.in(g.data.Refresh)
	g.leaves(g.put(udp(inA, server)), udp(out, server))
	g.leaves(g.put(udp(server, out)), udp(server, inA))
	g.leaves(g.put(udp(inB, server)), udp(endpoint(outbound, inB.Port()), server))
	p := ttl1(udp(server, out))
	g.refused(g.put(p), p, "drop_ttl_expired", publicAddress, packets.TimeExceeded, 0, 0) // has an address
	r := g.send(true, packets.NewARPRequest(packets.RouterMAC, router, pool1).Bytes())
	same(g, "reason of an ARP request", r.reason, "answered_arp")
	same(g, "address of the ARP reply", r.packet.Ethernet.Source, packets.MAC(must(g.namespace.MAC("eth0"))(t)))
	for _, i := range g.data.Interfaces() {
		same(g, "redirect to "+i.Name, i.Redirect, true)
	}
	g.crosses(udp(inA, server), outbound)
}

// crosses sends a packet from inside over the wire, and wants it outside with
// the source.
func (g *gateway) crosses(p packets.Packet, source netip.Addr) {
	g.t.Helper()
	from := must(g.inside.Frames("eth0"))(g.t)
	defer from.Close()
	to := must(g.outside.Frames("eth0"))(g.t)
	defer to.Close()
	mac := packets.MAC(must(g.namespace.MAC("eth1"))(g.t))
	check(g.t, from.Send(p.Between(packets.HostMAC, mac).Bytes()))
	for deadline := time.Now().Add(10 * time.Second); ; {
		frame, err := to.Receive(deadline)
		if err != nil {
			g.t.Fatalf("%s did not come out: %v", p, err)
		}
		got, err := packets.Parse(frame)
		if err == nil && got.IPv4 != nil && got.IPv4.Source == source && got.IPv4.Destination == p.IPv4.Destination {
			return
		}
	}
}

// However often one is made anew, the tables know those that are there.
func TestInterfaceMadeAnewOften(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for range 3 {
		g.remake(nil)
		g.in(g.data.Refresh)
	}
	g.knowsItsOwn("interface_table", "host_table")
	g.leaves(g.put(udp(inA, server)), udp(endpoint(outbound, inA.Port()), server))
}

// knowsItsOwn wants tables to have both interfaces, and no other.
func (g *gateway) knowsItsOwn(tables ...string) {
	g.t.Helper()
	for _, name := range tables {
		var key uint32
		var value []byte
		known := map[int]bool{}
		entries := g.table(name).Iterate()
		for entries.Next(&key, &value) {
			known[int(key)] = true
		}
		check(g.t, entries.Err())
		if len(known) != 2 || !known[g.public] || !known[g.private] {
			g.t.Errorf("%s knows interfaces %v, want %d and %d", name, known, g.public, g.private)
		}
	}
}

// One that was lent to the data plane, and has gone with a process that was killed, is forgotten while the daemon runs, and by the
// next daemon: others get its number.
func TestLentInterfaceIsForgotten(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*gateway){"by a refresh": func(g *gateway) { g.in(g.data.Refresh) }, "by adoption": (*gateway).reopen} {
		g := newGateway(t)
		check(t, g.lab.Veth(g.namespace, "lent", g.outside, "lent"))
		g.in(func() error {
			if _, err := datapath.AttachOutside(g.options.Instance, "lent"); err != nil {
				return err
			}
			lent, err := netlink.LinkByName("lent")
			return errors.Join(err, netlink.LinkDel(lent))
		})
		look(g)
		t.Log(name)
		g.knowsItsOwn("interface_table")
	}
}

// rename gives an interface of the gateway another name.
func (g *gateway) rename(from, to string) {
	g.t.Helper()
	g.in(func() error {
		old, err := netlink.LinkByName(from)
		if err != nil {
			return err
		}
		return errors.Join(netlink.LinkSetDown(old), netlink.LinkSetName(old, to))
	})
}

// An interface to which another has given its name keeps nothing of ours.
func TestInterfaceRenamed(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.rename("eth1", "other")
	check(t, g.lab.Veth(g.namespace, "eth1", g.inside, "eth9"))
	g.in(g.data.Refresh)
	for name, want := range map[string]string{"other": "0", "eth1": "1"} {
		same(g, "forwarding of "+name, must(g.namespace.Sysctl("net/ipv4/conf/"+name+"/forwarding"))(t), want)
	}
}

// One that has only changed its name forwards nothing either once its program is gone.
func TestRenamedInterfaceIsDetached(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.rename("eth1", "other")
	same(g, "forwarding before", must(g.namespace.Sysctl("net/ipv4/conf/other/forwarding"))(t), "1")
	g.in(g.data.Detach)
	same(g, "forwarding without a program", must(g.namespace.Sysctl("net/ipv4/conf/other/forwarding"))(t), "0")
}

// Where no program can be attached nothing is forwarded, however often we look;
// it is attached as soon as that is possible.
func TestInterfaceWithoutAProgram(t *testing.T) {
	t.Parallel()
	g := newGateway(t, auto)
	forwarding := func(want string) {
		t.Helper()
		same(g, "forwarding of eth0", must(g.namespace.Sysctl("net/ipv4/conf/eth0/forwarding"))(t), want)
	}
	g.remake(nil)
	check(t, g.namespace.SetSysctl("net/ipv4/conf/eth0/forwarding", "1"))
	foreign := g.crowd()
	for range 2 {
		if err := g.namespace.Do(g.data.Refresh); err == nil {
			t.Fatal("it is attached beside 64 others: this test shows nothing")
		}
		forwarding("0")
	}
	for _, l := range foreign {
		check(t, l.Close())
	}
	g.in(g.data.Refresh)
	forwarding("1")
	g.crosses(udp(inA, server), outbound)
}

// foreign is a program of somebody else.
func (g *gateway) foreign() *ebpf.Program {
	g.t.Helper()
	program := must(ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R0, -1), // TCX_NEXT
		asm.Return(),
	}}))(g.t)
	g.t.Cleanup(func() { _ = program.Close() })
	return program
}
