package gateway

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/outbound"
)

// resolved is a configuration with the addresses of now, where it names interfaces for the pool and the name server.
func resolved(c *config.Config, of []netip.Addr) (*config.Config, error) {
	if len(c.Pool.Interfaces) == 0 && c.DNS.Interface == "" {
		return c, nil
	}
	now := *c
	found, err := addressesOf(c, c.Pool.Interfaces, of)
	if err != nil {
		return nil, err
	}
	now.Pool.Addresses = slices.Clone(c.Pool.Addresses)
	for _, a := range found {
		if !slices.Contains(now.Pool.Addresses, a) {
			now.Pool.Addresses = append(now.Pool.Addresses, a)
		}
	}
	if c.DNS.Interface == "" {
		return &now, nil
	}
	if found, err = addressesOf(c, []string{c.DNS.Interface}, of); err == nil && len(found) > 0 {
		now.DNS.Public = netip.AddrPortFrom(found[0], c.DNS.Public.Port())
	}
	return &now, err
}

// configOfNow is resolved before the gateway runs.
func configOfNow(c *config.Config) (*config.Config, error) {
	addresses, err := planOf(c).Look()
	if err != nil {
		return nil, err
	}
	return resolved(c, addresses)
}

// addressesOf are the outbound addresses that interfaces have.
func addressesOf(c *config.Config, interfaces []string, of []netip.Addr) ([]netip.Addr, error) {
	found, err := outbound.Plan{Interfaces: interfaces, Private: c.Interfaces.Private}.Look()
	return slices.DeleteFunc(found, func(a netip.Addr) bool { return !slices.Contains(of, a) }), err
}

// followedPlane takes addresses that have left their interface out of the pool before they are outbound no more, so that
// nobody answers ARP for them, and ends the sessions there.
type followedPlane struct{ *Gateway }

// SetOutbound implements outbound.Plane.
func (p followedPlane) SetOutbound(addresses []netip.Addr) (datapath.OutboundChange, error) {
	v := p.view.Load()
	left := slices.DeleteFunc(slices.Clone(v.config.Pool.Addresses), func(a netip.Addr) bool {
		return slices.Contains(v.document.Config.Pool.Addresses, a) || slices.Contains(addresses, a)
	})
	var err error
	if len(left) > 0 {
		err = p.data.SetAddresses(slices.DeleteFunc(slices.Clone(v.config.Pool.Addresses), func(a netip.Addr) bool {
			return slices.Contains(left, a)
		}), v.static.Addresses)
	}
	change, outboundErr := p.data.SetOutbound(addresses)
	if len(left) > 0 { // those by a mapping have ended
		ended, endErr := p.data.EndSessions(func(s datapath.Session) bool {
			return s.Origin == "pool" && slices.Contains(left, s.External.Addr())
		})
		change.Ended += ended
		err = errors.Join(err, endErr)
	}
	return change, errors.Join(err, outboundErr)
}

// TendSlots implements outbound.Plane.
func (p followedPlane) TendSlots() error { return p.data.TendSlots() }

// MostOutbound implements outbound.Plane.
func (p followedPlane) MostOutbound() int { return p.data.MostOutbound() }
