package outbound

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
)

// PlanOf is the plan of a configuration. Its default is the first public interface's first address, or none where nobody is
// inside.
func PlanOf(c *config.Config) Plan {
	o := c.Outbound
	if len(o.Addresses)+len(o.Interfaces) > 0 {
		return Plan{Addresses: o.Addresses, Interfaces: o.Interfaces, Private: c.Interfaces.Private}
	}
	if c.Interfaces.Single() {
		return Plan{}
	}
	return Plan{Interfaces: c.Interfaces.Public[:1], First: true, Private: c.Interfaces.Private}
}

// Resolved is a configuration with the addresses of now behind those that it lists, where it names interfaces for the pool, the web and the name server.
func Resolved(c *config.Config, of []netip.Addr) (*config.Config, error) {
	if len(c.Pool.Interfaces)+len(c.Web.Interfaces) == 0 && c.DNS.Interface == "" {
		return c, nil
	}
	now := *c
	for _, use := range []struct {
		addresses  *[]netip.Addr
		interfaces []string
	}{{&now.Pool.Addresses, c.Pool.Interfaces}, {&now.Web.Addresses, c.Web.Interfaces}} {
		found, err := addressesOf(c, use.interfaces, of)
		if err != nil {
			return nil, err
		}
		*use.addresses = slices.Clone(*use.addresses)
		for _, a := range found {
			if !slices.Contains(*use.addresses, a) {
				*use.addresses = append(*use.addresses, a)
			}
		}
	}
	if c.DNS.Interface == "" {
		return &now, nil
	}
	found, err := addressesOf(c, []string{c.DNS.Interface}, of)
	if err == nil && len(found) > 0 {
		now.DNS.Public = netip.AddrPortFrom(found[0], c.DNS.Public.Port())
	}
	return &now, err
}

// Now is Resolved before anybody keeps the addresses.
func Now(c *config.Config) (*config.Config, error) {
	addresses, err := PlanOf(c).Look()
	if err != nil {
		return nil, err
	}
	return Resolved(c, addresses)
}

// addressesOf are the outbound addresses that interfaces have.
func addressesOf(c *config.Config, interfaces []string, of []netip.Addr) ([]netip.Addr, error) {
	found, err := Plan{Interfaces: interfaces, Private: c.Interfaces.Private}.Look()
	return slices.DeleteFunc(found, func(a netip.Addr) bool { return !slices.Contains(of, a) }), err
}
