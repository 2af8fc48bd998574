package daemon

import (
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/plane"
)

// wants is what a view wants of the data plane.
func (v *view) wants() plane.Wants {
	return plane.Wants{
		Config: v.config, Outbound: v.outbound, Static: v.static.Addresses, Open: v.services(), Bindings: len(v.realm.Registry.Services()),
		Ports: v.ports(), Names: v.realm.Names(),
	}
}

func fixedTables(d *draft) []string {
	return changed(plane.Fixed(d.before.document.Config, d.document.Config))
}

// prepareData opens the data plane at the start; later it says whether its tables can take the next configuration.
func (g kernelServices) prepareData(d *draft) (change, error) {
	switch {
	case d.before == nil:
		var err error
		g.data, err = g.plane.Open(d.wants())
		return change{}, err
	case d.read:
		return change{}, g.plane.Fits(d.before.wants(), d.wants())
	}
	return change{}, nil
}

// preparePolicy compiles the next generation of the data plane's policy.
func (g kernelServices) preparePolicy(d *draft) (change, error) {
	next := g.policy(d.view, func(generation uint32) { d.generation = generation })
	if d.before == nil {
		return g.plane.Prepare(next, nil)
	}
	before := g.policy(d.before, func(generation uint32) {
		restored := *d.before // others read the one in force
		restored.generation = generation
		g.view.Store(&restored)
	})
	return g.plane.Prepare(next, &before)
}

func (g kernelServices) policy(v *view, switched func(uint32)) plane.Policy {
	return plane.Policy{
		Wants: v.wants(), Build: buildChains(v, &g.plane.States), Switched: switched,
		Lately: func() []datapath.Service { return g.live().Lately(v.outbound) },
	}
}

// prepareAttachment attaches the programs at the start.
func (g kernelServices) prepareAttachment(d *draft) (c change, _ error) {
	if d.before == nil {
		c = g.plane.Attach()
	}
	return c, nil
}
