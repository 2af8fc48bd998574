package daemon

import (
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
)

// servesInside reports whether the inside resolver answers an asker: a host that a private interface leads to, or the
// gateway itself.
func (g *Daemon) servesInside(a netip.Addr) bool {
	return g.isOwnAddress(a) || g.machine.IsInside(a, datapath.Now(), g.ledTo)
}

// leadsInside reports whether nobody outside may lead a host to an address: one of the gateway's own, but those whose ports
// dnat or services open to everybody, or an IPv4 address that a private interface leads to. Names of hosts with public IPv6 addresses
// are served outside, too.
func (g *Daemon) leadsInside(a netip.Addr) bool {
	if g.isOwnAddress(a) {
		v := g.view.Load()
		return !v.static.Opens(a) && !v.shared().Lends(a) && !slices.Contains(v.config.OneToOneAddresses(), a)
	}
	return a.Is4() && g.machine.IsInside(a, datapath.Now(), g.ledTo)
}

func (g *Daemon) isOwnAddress(a netip.Addr) bool { return g.machine.Owns(a) }

// ledTo asks the kernel whether a private interface leads to an address.
func (g *Daemon) ledTo(a netip.Addr) bool {
	routes, err := netlink.RouteGet(a.AsSlice())
	if err != nil || len(routes) == 0 {
		return false // there is no way to it
	}
	for _, i := range g.data.Interfaces() {
		if i.Ifindex == routes[0].LinkIndex {
			return i.Side == "private"
		}
	}
	return false
}
