package daemon

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/machine"
)

// servesInside reports whether the inside resolver answers an asker: a host that a private interface leads to, or the
// gateway itself.
func (g *Daemon) servesInside(a netip.Addr) bool {
	return g.machine.Owns(a) || g.machine.IsInside(a, datapath.Now(), g.ledTo)
}

// leadsInside reports whether nobody outside may lead a host to an address: one of the gateway's own, but those whose ports
// dnat, services or the web open to everybody, or an IPv4 address that a private interface leads to. Names of hosts with public IPv6 addresses
// are served outside, too.
func (g *Daemon) leadsInside(a netip.Addr) bool {
	if g.machine.Owns(a) {
		v := g.view.Load()
		return !v.dnat.Opens(a) && !v.shared().Lends(a) && !slices.Contains(v.config.Web.Addresses, a) && !slices.Contains(v.config.Hosts.OneToOneAddresses(), a)
	}
	return a.Is4() && g.machine.IsInside(a, datapath.Now(), g.ledTo)
}

// ledTo reports whether a private interface leads to an address.
func (g *Daemon) ledTo(a netip.Addr) bool { return machine.LeadsInside(a, g.data.Interfaces) }
