package daemon

import (
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/names/shared"
	"github.com/realmgate/realmgate/internal/plane"
)

// wants is what a view wants of the data plane.
func (v *view) wants() plane.Wants {
	lendable := v.realm.Registry.Lendable()
	return plane.Wants{
		Config: v.config, Outbound: v.outbound, Dnat: v.dnat.Addresses, Open: v.services(), Bindings: len(lendable),
		Ports: len(shared.Ways(lendable)), Names: v.realm.Names(), Room: plane.RoomFor(v.config),
	}
}

func immutableTables(d *draft) []string {
	return changed(plane.Immutable(d.before.document.Config, d.wanted.document.Config))
}

func (g kernelServices) openData(d *draft) (_ change, err error) {
	g.data, err = g.plane.Open(d.wants())
	return change{}, err
}

// prepareData says whether the tables can take the next configuration.
func (g kernelServices) prepareData(d *draft) (_ change, err error) {
	if d.wanted.read {
		err = g.plane.Validate(d.before.wants(), d.wants())
	}
	return change{}, err
}

// openPolicy compiles the first generation of the data plane's policy, preparePolicy the next.
func (g kernelServices) openPolicy(d *draft) (change, error) {
	return g.plane.Prepare(g.nextPolicy(d), nil)
}

func (g kernelServices) preparePolicy(d *draft) (change, error) {
	before := g.policy(d.before, func(generation uint32) {
		restored := *d.before // others read the one in force
		restored.generation = generation
		g.view.Store(&restored)
	})
	return g.plane.Prepare(g.nextPolicy(d), &before)
}

func (g kernelServices) nextPolicy(d *draft) plane.Policy {
	return g.policy(d.view, func(generation uint32) { d.generation = generation })
}

func (g kernelServices) policy(v *view, switched func(uint32)) plane.Policy {
	return plane.Policy{
		Wants: v.wants(), Build: buildChains(v, &g.plane.States), Switched: switched,
		Lately: func() []datapath.Service { return append(g.live().Lately(v.outbound), v.webRest.Now(v.outbound)...) },
	}
}

// attach attaches the programs at the start.
func (g kernelServices) attach(*draft) (change, error) { return g.plane.Attach(), nil }
