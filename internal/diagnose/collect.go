package diagnose

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// mostAsked bounds for how many hosts in no network of a private interface the kernel is
// asked where it sends to them.
const mostAsked = 256

// joining are the kinds of interfaces that have others as ports, and have the addresses.
var joining = []string{"bridge", "bond", "team"}

// Collect asks the kernel for all facts but the next hops, which it is told, and the
// neighbours.
func Collect(s *Setup, hops []netip.Addr) (*Facts, error) {
	f := &Facts{Own: map[netip.Addr]bool{}, Hops: map[netip.Addr]bool{}, Ways: map[netip.Addr]string{}}
	for _, h := range hops {
		f.Hops[h] = true
	}
	names := map[int]string{}
	for _, list := range [][]string{s.Public, s.Private} {
		for _, name := range list {
			i, err := collectInterface(name)
			if errors.As(err, &netlink.LinkNotFoundError{}) {
				f.Missing = append(f.Missing, name)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look at interface %s: %w", name, err)
			}
			f.Interfaces, names[i.Index] = append(f.Interfaces, i), name
		}
	}
	for _, name := range s.Followed {
		if _, err := netlink.LinkByName(name); errors.As(err, &netlink.LinkNotFoundError{}) && !slices.Contains(f.Missing, name) {
			f.Missing = append(f.Missing, name)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the machine's own addresses: %w", err)
	}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			f.Own[p.Addr().Unmap()] = true
		}
	}
	if slices.ContainsFunc(s.Outbound, func(a netip.Addr) bool { return f.Own[a] }) { // else none of them begins there
		if f.Tunnels, err = collectTunnels(); err != nil {
			return nil, fmt.Errorf("list the machine's own tunnels: %w", err)
		}
	}
	for _, h := range s.Hosts {
		if _, ok := f.network(s.Private, h.Address); ok {
			continue
		}
		if len(f.Ways) == mostAsked {
			break
		}
		f.Ways[h.Address] = wayTo(h.Address, names)
	}
	return f, nil
}

func collectInterface(name string) (Interface, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return Interface{}, err
	}
	addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) { // most of them are there even so
		return Interface{}, err
	}
	a := link.Attrs()
	i := Interface{Name: name, Index: a.Index, Kind: link.Type(), Ethernet: a.EncapType == "ether", Bare: len(a.HardwareAddr) == 0, MAC: a.HardwareAddr.String(),
		Up: a.RawFlags&unix.IFF_UP != 0, Carrier: a.RawFlags&unix.IFF_RUNNING != 0}
	if master, err := netlink.LinkByIndex(a.MasterIndex); a.MasterIndex != 0 && err == nil && slices.Contains(joining, master.Type()) {
		i.Master = master.Attrs().Name
	}
	for _, address := range addresses {
		if ip, ok := netip.AddrFromSlice(address.IP.To4()); ok {
			bits, _ := address.Mask.Size()
			i.Prefixes = append(i.Prefixes, netip.PrefixFrom(ip, bits))
		}
	}
	return i, nil
}

func collectTunnels() (list []Tunnel, err error) {
	links, err := netlink.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, err
	}
	for _, link := range links {
		if local, ok := netip.AddrFromSlice(tunnelEnd(link)); ok && !local.Unmap().IsUnspecified() {
			list = append(list, Tunnel{link.Attrs().Name, local.Unmap()})
		}
	}
	return list, nil
}

// tunnelEnd is where a tunnel of GRE, IPIP or 6in4 begins; nil where it is none.
func tunnelEnd(link netlink.Link) net.IP {
	switch t := link.(type) {
	case *netlink.Gretun:
		return t.Local
	case *netlink.Gretap:
		return t.Local
	case *netlink.Iptun:
		return t.Local
	case *netlink.Sittun:
		return t.Local
	}
	return nil
}

// wayTo names the interface by which the kernel sends to an address, "" for nowhere.
func wayTo(a netip.Addr, names map[int]string) string {
	routes, err := netlink.RouteGet(a.AsSlice())
	if err != nil || len(routes) == 0 {
		return ""
	}
	index := routes[0].LinkIndex
	if name, ok := names[index]; ok {
		return name
	}
	if link, err := netlink.LinkByIndex(index); err == nil {
		return link.Attrs().Name
	}
	return ""
}
