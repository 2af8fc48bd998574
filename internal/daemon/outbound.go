package daemon

import (
	"context"
	"slices"

	"github.com/realmgate/realmgate/internal/outbound"
)

func (g machineServices) newOutbound() *outbound.Keeper {
	return outbound.New(outbound.Options{
		InForce: func() outbound.InForce {
			v := g.view.Load()
			return outbound.InForce{Config: v.config, File: v.document.Config, Dnat: v.dnat.Addresses}
		},
		Events: &g.events, Apply: g.readdress, Log: g.log,
	})
}

// openOutbound begins to keep the addresses.
func (g machineServices) openOutbound(d *draft) (change, error) {
	return g.outbound.Open(g.data, d.config, d.outbound), nil
}

// prepareOutbound has their keeper follow.
func (g machineServices) prepareOutbound(d *draft) (change, error) {
	return g.outbound.Prepare(d.config, d.outbound), nil
}

// readdress makes what is in force follow the outbound addresses.
func (g machineServices) readdress(ctx context.Context) {
	if slices.Equal(g.view.Load().outbound, g.outbound.Addresses()) {
		return // without the lock, which a reload may hold for long
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	old, addresses := g.view.Load(), g.outbound.Addresses()
	if ctx.Err() != nil || slices.Equal(old.outbound, addresses) {
		return // we stop, or a reload has done it
	}
	if err := g.services.Apply(old.next(wanted{document: old.document, outbound: addresses, lists: old.lists})); err != nil {
		g.log.Error("outbound addresses not applied", "error", err)
		now := *old // others read the one in force
		now.outbound = addresses
		g.view.Store(&now)
	}
}
