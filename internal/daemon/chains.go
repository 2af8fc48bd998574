package daemon

import (
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// rules are what a view has to compile.
func (v *view) rules() ruleset.Rules {
	return ruleset.Rules{
		Config: v.config, Lists: v.lists, Numbers: v.numbers, Denied: v.geofences.Denied, Hops: v.hops,
		Kept: func(function string) any {
			if b := v.backends[function]; b != nil {
				return b.Paths
			}
			return nil
		},
		Own: slices.Concat(v.config.Pool.Addresses, v.outbound, v.dnat.Addresses, v.config.Hosts.OneToOneAddresses()),
	}
}

// buildChains compiles a view's policy when the data plane asks for it; nil
// where there is none.
func buildChains(v *view, states *nf.States) datapath.BuildChains {
	if !v.rules().Judge() {
		return nil
	}
	policy := v.rules().Policy()
	return func(tables datapath.ChainTables, first uint32) (datapath.Chains, error) {
		made, err := nf.Build(policy, nf.Shared(tables), first, states)
		return datapath.Chains{
			XDP: datapath.ChainPrograms(made.XDP), TCX: datapath.ChainPrograms(made.TCX),
			In: made.In, Out: made.Out, Input: made.Input, Honeypot: made.Honeypot,
		}, err
	}
}

// prepareCounts begins the counts of functions that are new.
func (g kernelServices) prepareCounts(d *draft) (change, error) {
	return g.plane.BeginCounts(d.before.numbers, d.numbers), nil
}

// reportChains says which chains are not as the file has them.
func (g kernelServices) reportChains(s *api.Status) error {
	v := g.view.Load()
	for i, ch := range v.config.Chains {
		if changes := v.changes(i); len(changes) > 0 {
			s.ChangedChains = append(s.ChangedChains, api.ChangedChain{Chain: ch.Name, Changes: changes})
		}
	}
	return nil
}

// Chains implements api.Gateway.
func (g commands) Chains() ([]api.Chain, error) {
	v := g.view.Load()
	counts, err := g.data.Counts()
	if err != nil {
		return nil, err
	}
	list := []api.Chain{}
	did := func(chain, function, use string, priority int) api.Function {
		name := ruleset.Name(chain, function)
		n := counts[v.numbers[name]]
		return api.Function{
			Name: function, Use: use, Priority: priority, Seen: n.Seen, Accepted: n.Accepted, Dropped: n.Dropped,
			Failed: n.Failed, Samples: n.Samples, NsEach: n.Ns / max(1, n.Samples), Backends: v.backends.Backends(name),
		}
	}
	if v.config.Protection.Given() {
		shown := api.Chain{Name: model.ProtectionName, Match: []map[string]string{{}}}
		for _, f := range ruleset.ProtectionFunctions(v.config) {
			shown.Functions = append(shown.Functions, did(model.ProtectionName, f, f, 0))
		}
		list = append(list, shown)
	}
	for i, ch := range v.config.Chains {
		shown := api.Chain{Name: ch.Name, Match: ruleset.Matches(ch.Matches), Functions: []api.Function{}, Changes: v.changes(i)}
		for _, f := range ch.Functions {
			shown.Functions = append(shown.Functions, did(ch.Name, f.Name, f.Use, f.Priority))
		}
		list = append(list, shown)
	}
	return list, nil
}
