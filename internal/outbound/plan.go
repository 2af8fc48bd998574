package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Plan is what a configuration says.
type Plan struct {
	Addresses  []netip.Addr // whatever interfaces have
	Interfaces []string     // whose global IPv4 addresses are outbound, too
	First      bool         // of each interface the first address alone
	Private    []string     // the interfaces inside: an address of their networks is not used
}

// Look returns the addresses as they are now: at first those that are named. An interface that
// is not there has none.
func (p Plan) Look() ([]netip.Addr, error) {
	list := slices.Clone(p.Addresses)
	for _, name := range p.Interfaces {
		found, err := prefixesOf(name)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			inside, err := p.isInside(f.Addr())
			if err != nil {
				return nil, err
			}
			if inside || slices.Contains(list, f.Addr()) {
				continue
			}
			list = append(list, f.Addr())
			if p.First {
				break
			}
		}
	}
	return list, nil
}

// isInside reports whether hosts inside may have the address (RFC 4787 REQ-7).
func (p Plan) isInside(a netip.Addr) (bool, error) {
	for _, name := range p.Private {
		networks, err := prefixesOf(name)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) }) {
			return true, nil
		}
	}
	return false, nil
}

// prefixesOf are an interface's global addresses, with their networks.
func prefixesOf(name string) (list []netip.Prefix, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("look for outbound addresses on %s: %w", name, err)
		}
	}()
	link, err := netlink.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := netlink.AddrList(link, unix.AF_INET)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		ip, ok := netip.AddrFromSlice(a.IP.To4())
		if ok && a.Scope == unix.RT_SCOPE_UNIVERSE && ip.IsGlobalUnicast() {
			bits, _ := a.Mask.Size()
			list = append(list, netip.PrefixFrom(ip, bits))
		}
	}
	return list, nil
}
