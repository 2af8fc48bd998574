package realm

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// Guests is a realm for hosts that register themselves: it says what they cannot have.
type Guests struct {
	*Realm
	taken map[netip.Addr]string
	owns  func(netip.Addr) bool
}

// Guests makes it for a configuration, with the addresses of now; owns reports the machine's own.
func (d *Realm) Guests(c *config.Config, outbound, dnat []netip.Addr, owns func(netip.Addr) bool) Guests {
	h := Guests{d, map[netip.Addr]string{}, owns}
	for what, list := range map[string][]netip.Addr{
		"an address of the pool": c.Pool.Addresses, "an outbound address": outbound, "an address of dnat": dnat, "a web address": c.Web.Addresses,
		"a host's alone": c.Hosts.OneToOneAddresses(), "a name server of the gateway": {c.DNS.Public.Addr(), c.DNS.Private.Addr()},
	} {
		for _, a := range list {
			h.taken[a] = what
		}
	}
	return h
}

// Named says what the configuration has of a name, "" for nothing. What a wildcard answers for is had, too.
func (h Guests) Named(name model.Name) string {
	static := h.Registry.With(nil)
	entry, known := static.Lookup(name)
	switch {
	case known && entry.Encloser != "":
		return fmt.Sprintf("answered by %s of %s", entry.Name, entry.Host.Name)
	case known:
		return "a name of " + entry.Host.Name.String()
	case static.Exists(name):
		return "in the zone already"
	}
	return ""
}

// Addressed says what an address is, "" for nothing.
func (h Guests) Addressed(a netip.Addr) string {
	if host, known := h.Registry.With(nil).ByAddress(a); known {
		return "the address of " + host.Name.String()
	}
	if what := h.taken[a]; what != "" {
		return what
	}
	if h.owns(a) {
		return "the gateway's own"
	}
	return ""
}
