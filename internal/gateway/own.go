package gateway

import (
	"errors"
	"fmt"
	"net/netip"
)

// prepareMachine learns what the machine has itself, and refuses services whose ports are taken.
func (g *Gateway) prepareMachine(d *draft) (change, error) {
	if d.before == nil {
		if _, err := g.machine.ReadAddresses(); err != nil { // the pool asks for them
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

// lookAtSockets learns what programs of the gateway listen at, as long as services have ports of an outbound address.
func (g *Gateway) lookAtSockets(v *view) error {
	if len(v.inParts()) == 0 {
		g.machine.ForgetSockets()
		return nil
	}
	return g.machine.LookAtSockets()
}

// lookAtOwn learns which addresses are the machine's own. Each time that they change it warns of those that are in the
// pool, and has the pool give them up.
func (g *Gateway) lookAtOwn() error {
	v := g.view.Load()
	socketsErr := g.lookAtSockets(v)
	changed, err := g.machine.ReadAddresses()
	if err != nil || !changed {
		return errors.Join(socketsErr, err)
	}
	g.warnOfOwn(v)
	g.bans.SpareSoon()
	return errors.Join(socketsErr, g.pool.Reconsider())
}

// warnOfOwn says which pool addresses are never lent.
func (g *Gateway) warnOfOwn(v *view) {
	for _, a := range g.ownInPool(v) {
		g.log.Warn("a pool address stands on an interface and is not lent: take it off the interface, or out of pool.addresses", "address", a)
	}
}

func (g *Gateway) ownInPool(v *view) []netip.Addr {
	return v.ownInPool(g.machine.Addresses())
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
