package daemon

import (
	"context"
	"errors"
	"net/netip"

	"github.com/realmgate/realmgate/internal/machine"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/shared"
)

// openMachine learns what the machine has itself: the pool asks for that.
func (g machineServices) openMachine(d *draft) (change, error) {
	_, err := g.machine.ReadAddresses()
	if err == nil {
		err = g.live().LookAtSockets(d.shared())
	}
	return change{Settle: func() { g.live().LogOwn(d.shared(), g.log) }}, err
}

// prepareMachine looks again, and refuses services whose ports are taken, and addresses that rest.
func (g machineServices) prepareMachine(d *draft) (change, error) {
	if d.wanted.read {
		if err := g.live().LookAtSockets(d.shared()); err != nil {
			return change{}, err
		}
		if err := errors.Join(g.live().CheckListening(d.shared()), g.pool.CheckResting(d.config, d.outbound, d.dnat.Addresses)); err != nil {
			return change{}, err
		}
	}
	return change{Settle: func() { g.live().LogOwn(d.shared(), g.log) }}, nil
}

// readLocalAddresses learns which addresses are the machine's own. Each time that they change it warns of those that are in the
// pool, and has the pool give them up.
func (g *Daemon) readLocalAddresses() error {
	s := g.view.Load().shared()
	socketsErr := g.live().LookAtSockets(s)
	changed, err := g.machine.ReadAddresses()
	if err != nil || !changed {
		return errors.Join(socketsErr, err)
	}
	g.live().LogOwn(s, g.log)
	g.bans.ExemptSoon()
	return errors.Join(socketsErr, g.pool.Reconsider())
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

// blocked is invariant I3 for the pool, and I9 for ports that were the web's.
func (g *Daemon) blocked(v *view, a netip.Addr, p model.Protocol, port uint16) bool {
	return v.webRest.Has(a, p, port) || g.live().Blocked(v.shared(), a, p, port)
}

// followMachine keeps the data plane's picture of the machine true.
func (g machineServices) followMachine(ctx context.Context) error {
	w, err := machine.NewNotices()
	if err != nil {
		return err
	}
	g.reconciler().Run(ctx, w)
	return nil
}

func (g *Daemon) reconciler() *machine.Reconciler {
	return &machine.Reconciler{
		Listen:  machine.NewNotices,
		Refresh: g.data.Refresh, Look: g.readLocalAddresses, Hops: g.readNextHops, Log: g.log,
		Routed:     func() { g.data.RoutesChanged(); g.machine.RoutesChanged() },
		Neighbours: func() error { return g.data.ConfirmNeighbours(g.machine.Neighbours()) },
	}
}
