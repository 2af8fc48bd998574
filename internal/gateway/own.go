package gateway

import (
	"fmt"
	"maps"
	"net"
	"net/netip"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// ownAddresses are those on an interface of this machine.
type ownAddresses map[netip.Addr]bool

// lookAtOwn learns which addresses are the machine's own. Each time that they change it warns of those that are in the
// pool, and has the pool give them up.
func (g *Gateway) lookAtOwn() error {
	changed, err := g.readOwn()
	if err != nil || !changed {
		return err
	}
	g.warnOfOwn(g.view.Load().config)
	g.bans.spareSoon()
	return g.pool.Reconsider()
}

// readOwn reads them, and reports whether they are others than before.
func (g *Gateway) readOwn() (changed bool, err error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("list the machine's own addresses: %w", err)
	}
	own := ownAddresses{}
	for _, a := range list {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own[prefix.Addr().Unmap()] = true
		}
	}
	before := g.own.Swap(&own)
	return before == nil || !maps.Equal(*before, own), nil
}

// warnOfOwn says which pool addresses are never lent.
func (g *Gateway) warnOfOwn(c *config.Config) {
	for _, a := range g.ownInPool(c) {
		g.log.Warn("a pool address stands on an interface and is not lent: take it off the interface, or out of pool.addresses", "address", a)
	}
}

func (g *Gateway) ownInPool(c *config.Config) []netip.Addr {
	own := g.own.Load()
	if own == nil {
		return nil
	}
	var found []netip.Addr
	for _, a := range c.Pool.Addresses {
		if (*own)[a] {
			found = append(found, a)
		}
	}
	return found
}

// blocked is invariant I3 for the pool: any port of an address of the machine's
// own may be a service of it, whose packets a loan would take away.
func (g *Gateway) blocked(a netip.Addr, _ model.Protocol, _ uint16) bool {
	own := g.own.Load()
	return own != nil && (*own)[a]
}
