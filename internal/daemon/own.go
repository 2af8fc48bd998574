package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/machine"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/names/shared"
	"github.com/realmgate/realmgate/internal/registry"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// openMachine learns what the machine has itself: the pool asks for that.
func (g machineServices) openMachine(d *draft) (change, error) {
	_, err := g.machine.ReadAddresses()
	if err == nil {
		err = g.lookAtSockets(d.view)
	}
	return change{Settle: func() { g.warnOfOwn(d.view) }}, err
}

// prepareMachine looks again, and refuses services whose ports are taken, and addresses that rest.
func (g machineServices) prepareMachine(d *draft) (change, error) {
	if d.wanted.read {
		if err := g.lookAtSockets(d.view); err != nil {
			return change{}, err
		}
		if err := errors.Join(g.live().CheckListening(d.shared()), g.rested(d.view)); err != nil {
			return change{}, err
		}
	}
	return change{Settle: func() { g.warnOfOwn(d.view) }}, nil
}

// lookAtSockets learns what programs of the gateway listen at, as long as services have ports of an outbound address.
func (g *Daemon) lookAtSockets(v *view) error {
	if len(v.shared().List()) == 0 {
		g.machine.ForgetSockets()
		return nil
	}
	return g.machine.LookAtSockets()
}

// readLocalAddresses learns which addresses are the machine's own. Each time that they change it warns of those that are in the
// pool, and has the pool give them up.
func (g *Daemon) readLocalAddresses() error {
	v := g.view.Load()
	socketsErr := g.lookAtSockets(v)
	changed, err := g.machine.ReadAddresses()
	if err != nil || !changed {
		return errors.Join(socketsErr, err)
	}
	g.warnOfOwn(v)
	g.bans.ExemptSoon()
	return errors.Join(socketsErr, g.pool.Reconsider())
}

// warnOfOwn says which pool addresses are never lent.
func (g *Daemon) warnOfOwn(v *view) {
	for _, a := range g.ownInPool(v) {
		g.log.Warn("pool address not lent", "hint", "it is on an interface: take it off, or out of pool.addresses", "address", a)
	}
}

func (g *Daemon) ownInPool(v *view) []netip.Addr {
	return v.shared().OnInterfaces(g.machine.Addresses())
}

// ownWarnings says it.
func ownWarnings(own []netip.Addr) []string {
	if len(own) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of the pool stands on an interface (%d such) and is not lent: take it off the interface, or out of pool.addresses", own[0], len(own))}
}

// shared are the pool addresses of which services get ports.
func (v *view) shared() shared.Addresses {
	return shared.Addresses{Config: v.config, Registry: v.realm.Registry, Outbound: v.outbound, Dnat: v.dnat.Ports}
}

func (g *Daemon) live() shared.Live {
	return shared.Live{Data: g.data, Machine: &g.machine, Place: g.pool.Place, Places: func(visit func(netip.Addr, []model.Port)) {
		for _, p := range g.pool.Places() {
			visit(p.Address, p.Service.Ports)
		}
	}}
}

// blocked is invariant I3 for the pool.
func (g *Daemon) blocked(v *view, a netip.Addr, p model.Protocol, port uint16) bool {
	return g.live().Blocked(v.shared(), a, p, port)
}

// partsOf is what can be said of a configuration before it runs.
func partsOf(c *config.Config, outbound []netip.Addr, r *registry.Registry) *view {
	if c.Outbound.Follows() && slices.Contains(c.Pool.Addresses, c.DNS.Public.Addr()) {
		outbound = append(slices.Clone(outbound), c.DNS.Public.Addr()) // it is of the interface then, or the gateway says that it is not
	}
	v := &view{config: c, realm: &realm.Realm{Registry: r}, outbound: outbound}
	v.dnat, _ = ruleset.DnatOf(c, outbound, nothingPast) // its error is told elsewhere
	return v
}

// followMachine keeps the data plane's picture of the machine true.
func (g machineServices) followMachine(ctx context.Context) error {
	w, err := machine.NewNotices()
	if err != nil {
		return err
	}
	g.follower().Run(ctx, w)
	return nil
}

func (g *Daemon) follower() *machine.Upkeep {
	return &machine.Upkeep{
		Listen:  machine.NewNotices,
		Refresh: g.data.Refresh, Look: g.readLocalAddresses, Hops: g.readNextHops, Log: g.log,
		Routed:     func() { g.data.RoutesChanged(); g.machine.RoutesChanged() },
		Neighbours: func() error { return g.data.ConfirmNeighbours(g.machine.SharedNextHops()) },
	}
}
