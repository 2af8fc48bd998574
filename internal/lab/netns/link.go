package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Address adds an address with its prefix, as "10.0.0.1/16", to an interface.
func (l *links) Address(ifname, prefix string) error {
	fail := func(err error) error {
		return fmt.Errorf("add address %s to %s in %s: %w", prefix, ifname, l.name, err)
	}
	address, err := netlink.ParseAddr(prefix)
	if err != nil {
		return fail(err)
	}
	if address.IP.To4() == nil {
		address.Flags = unix.IFA_F_NODAD
	}
	add := func(link netlink.Link) error { return netlink.AddrAdd(link, address) }
	if err := l.withLink(ifname, add); err != nil {
		return fail(err)
	}
	return nil
}

// Up sets an interface up. Its carrier may follow a little later: see WaitUp.
func (l *links) Up(ifname string) error { return l.set(ifname, "up", netlink.LinkSetUp) }

// Down sets an interface down; its routes go with it.
func (l *links) Down(ifname string) error { return l.set(ifname, "down", netlink.LinkSetDown) }

func (l *links) set(ifname, what string, set func(netlink.Link) error) error {
	if err := l.withLink(ifname, set); err != nil {
		return fmt.Errorf("set %s %s in %s: %w", ifname, what, l.name, err)
	}
	return nil
}

// WaitUp waits until all interfaces can carry packets: both ends of a veth are
// up, a bridge has a port that is, and the kernel has taken notice. Until then
// it drops what they send. WaitUp gives up after 5 s.
func (l *links) WaitUp() error {
	var waiting string
	err := l.Do(func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, link := range links {
			waiting = link.Attrs().Name
			if err := waitLinkUp(link); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for interface %s in %s: %w", waiting, l.name, err)
	}
	return nil
}

// waitLinkUp asks for the one link again and again, not for all: the kernel may
// take notice of a carrier a second late, but newer ones do so at once for a
// link that is asked for by name or index.
func waitLinkUp(link netlink.Link) error {
	if link.Attrs().Flags&net.FlagLoopback != 0 {
		return nil
	}
	return poll(5*time.Second, func() (bool, error) {
		now, err := netlink.LinkByIndex(link.Attrs().Index)
		return err == nil && now.Attrs().OperState == netlink.OperUp, err
	})
}

// Route adds a route to destination, a prefix or "default", through gateway.
func (l *links) Route(destination, gateway string) error {
	return l.route("add", destination, gateway, netlink.RouteAdd)
}

// RemoveRoute removes what Route added.
func (l *links) RemoveRoute(destination, gateway string) error {
	return l.route("remove", destination, gateway, netlink.RouteDel)
}

func (l *links) route(what, destination, gateway string, change func(*netlink.Route) error) error {
	fail := func(err error) error {
		return fmt.Errorf("%s route to %s through %s in %s: %w", what, destination, gateway, l.name, err)
	}
	via, err := netip.ParseAddr(gateway)
	if err != nil {
		return fail(err)
	}
	if destination == "default" {
		destination = "0.0.0.0/0"
		if via.Is6() {
			destination = "::/0"
		}
	}
	_, prefix, err := net.ParseCIDR(destination)
	if err != nil {
		return fail(err)
	}
	route := &netlink.Route{Dst: prefix, Gw: via.AsSlice()}
	if err := l.Do(func() error { return change(route) }); err != nil {
		return fail(err)
	}
	return nil
}

// withLink calls f inside the namespace with the interface called ifname.
func (p *place) withLink(ifname string, f func(netlink.Link) error) error {
	return p.Do(func() error {
		link, err := netlink.LinkByName(ifname)
		if err != nil {
			return err
		}
		return f(link)
	})
}

// MAC returns an interface's Ethernet address.
func (l *links) MAC(ifname string) (net.HardwareAddr, error) {
	var address net.HardwareAddr
	err := l.withLink(ifname, func(link netlink.Link) error {
		address = link.Attrs().HardwareAddr
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("address of %s in %s: %w", ifname, l.name, err)
	}
	return address, nil
}

// Bridge makes a switch out of ports, interfaces of this namespace, and sets it
// and them up. It forwards at once: there is no spanning tree.
func (l *links) Bridge(name string, ports ...string) error {
	off := false
	bridge := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs(), MulticastSnooping: &off}
	bridge.Name = name
	if err := l.Do(func() error { return netlink.LinkAdd(bridge) }); err != nil {
		return fmt.Errorf("make bridge %s in %s: %w", name, l.name, err)
	}
	return errors.Join(l.Up(name), l.Join(name, ports...))
}

// Join adds ports to a bridge and sets them up.
func (l *links) Join(bridge string, ports ...string) error {
	join := func(port netlink.Link) error {
		master, err := netlink.LinkByName(bridge)
		if err != nil {
			return fmt.Errorf("find %s: %w", bridge, err)
		}
		return netlink.LinkSetMasterByIndex(port, master.Attrs().Index)
	}
	for _, port := range ports {
		if err := errors.Join(l.set(port, "a port of "+bridge, join), l.Up(port)); err != nil {
			return err
		}
	}
	return nil
}
