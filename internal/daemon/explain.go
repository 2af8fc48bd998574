package daemon

import (
	"errors"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/machine"
)

// Explain implements api.Gateway. The chains in force are built once more, and stay in
// force meanwhile.
func (g commands) Explain(r api.ExplainRequest) (api.Explanation, error) {
	g.changing.Lock()
	defer g.changing.Unlock()
	e := g.newExplainer()
	defer func() {
		if err := e.Close(); err != nil {
			g.log.Warn("explain close failed", "error", err)
		}
	}()
	return e.Explain(r)
}

func (g commands) newExplainer() *explain.Explainer {
	v := g.view.Load()
	return explain.New(explain.Options{
		State: v.explained(), Data: g.data, Bans: g.bans, Pool: g.pool, Link: machine.LinkTo, Inside: g.ledTo,
		Dry: func(mode datapath.Mode) (*datapath.Dry, error) {
			dry, err := g.data.OpenDry(mode)
			if err != nil {
				return nil, err
			}
			if err := g.setChains(dry, v); err != nil {
				return nil, errors.Join(err, dry.Close())
			}
			return dry, nil
		},
	})
}

// setChains has dry runs go through the chains of a view that is in force.
func (g commands) setChains(dry *datapath.Dry, v *view) error {
	states := g.plane.States.Look()
	defer states.Forget()
	return dry.SetChains(buildChains(v, states))
}

// explained is what explanations go by.
func (v *view) explained() explain.State {
	return explain.State{
		Config: v.config, Generation: v.generation, Registry: v.realm.Registry, Name: v.realm.Name, WebAddress: v.realm.WebAddress, WebName: v.realm.WebName, Numbers: v.numbers, Lists: v.lists,
		Hops: v.hops, Own: v.rules().Own, Dnat: v.dnat.Addresses, Shared: v.shared().List(), Place: v.geofences.Said,
		Backends: func(function string) (up, all int) {
			if b := v.backends[function]; b != nil {
				up, all = b.Up()
			}
			return up, all
		},
	}
}
