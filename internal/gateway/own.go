package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
)

// ownAddresses are those on an interface of this machine.
type ownAddresses map[netip.Addr]bool

// prepareMachine learns what the machine has itself, and refuses services whose ports are taken.
func (g *Gateway) prepareMachine(d *draft) (change, error) {
	if d.before == nil {
		if _, err := g.readOwn(); err != nil { // the pool asks for them
			return change{}, err
		}
	}
	if d.read {
		if err := g.lookAtSockets(d.view); err != nil {
			return change{}, err
		}
	}
	if d.read && d.before != nil {
		if err := g.checkListening(d.view); err != nil {
			return change{}, err
		}
	}
	return change{Settle: func() { g.warnOfOwn(d.view) }}, nil
}

// lookAtOwn learns which addresses are the machine's own. Each time that they change it warns of those that are in the
// pool, and has the pool give them up.
func (g *Gateway) lookAtOwn() error {
	v := g.view.Load()
	socketsErr := g.lookAtSockets(v)
	changed, err := g.readOwn()
	if err != nil || !changed {
		return errors.Join(socketsErr, err)
	}
	g.warnOfOwn(v)
	g.bans.SpareSoon()
	return errors.Join(socketsErr, g.pool.Reconsider())
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
func (g *Gateway) warnOfOwn(v *view) {
	for _, a := range g.ownInPool(v) {
		g.log.Warn("a pool address stands on an interface and is not lent: take it off the interface, or out of pool.addresses", "address", a)
	}
}

func (g *Gateway) ownInPool(v *view) []netip.Addr {
	own := g.own.Load()
	if own == nil {
		return nil
	}
	return v.ownInPool(*own)
}

// ownInPool are the pool addresses that the machine has itself, and that are not lent by ports.
func (v *view) ownInPool(own map[netip.Addr]bool) (found []netip.Addr) {
	for _, a := range v.config.Pool.Addresses {
		if own[a] && !v.lendsPorts(a) {
			found = append(found, a)
		}
	}
	return found
}

// ownRemedies says it.
func ownRemedies(own []netip.Addr) []string {
	if len(own) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of the pool stands on an interface (%d such) and is not lent: take it off the interface, or out of pool.addresses", own[0], len(own))}
}
