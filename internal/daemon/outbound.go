package daemon

import (
	"slices"

	"github.com/realmgate/realmgate/internal/outbound"
)

func (g machineServices) newOutbound() *outbound.Keeper {
	return outbound.New(outbound.Options{
		Changing: &g.reload, InForce: func() outbound.InForce {
			v := g.view.Load()
			return outbound.InForce{Config: v.config, File: v.document.Config, Dnat: v.dnat.Addresses}
		},
		Events: &g.events, Settle: g.readdress, Log: g.log,
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

// readdress makes what is in force follow the outbound addresses. The caller holds reload.
func (g machineServices) readdress() {
	old, addresses := g.view.Load(), g.outbound.Addresses()
	if slices.Equal(old.outbound, addresses) {
		return
	}
	if err := g.services.Apply(old.next(wanted{document: old.document, outbound: addresses, lists: old.lists})); err != nil {
		g.log.Error("outbound addresses not applied", "error", err)
		now := *old // others read the one in force
		now.outbound = addresses
		g.view.Store(&now)
	}
}
