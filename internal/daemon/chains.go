package daemon

import (
	"slices"

	"github.com/realmgate/realmgate/internal/chains"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
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
			if a := v.askers[function]; a != nil {
				return a.Line
			}
			return nil
		},
		Own: slices.Concat(v.config.Pool.Addresses, v.outbound, v.dnat.Addresses, v.config.Hosts.OneToOneAddresses(), v.config.Web.Addresses),
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
			In: made.In, Out: made.Out, Input: made.Input, Honeypot: made.Honeypot, Bytes: made.Bytes,
		}, err
	}
}

// prepareCounts begins the counts of functions that are new.
func (g kernelServices) prepareCounts(d *draft) (change, error) {
	return g.plane.BeginCounts(d.before.numbers, d.numbers), nil
}

func (g kernelServices) newChains() *chains.Service {
	return chains.New(chains.Options{
		File: g.options.ConfigFile, Changing: &g.changing, InForce: func() chains.InForce { return g.view.Load().chains() },
		Put: func(d *config.Document) error {
			old := g.view.Load()
			return g.services.Apply(old.next(wanted{document: d, outbound: g.outbound.Addresses(), lists: old.lists}))
		},
		SetSaved: func(by string) {
			now := *g.view.Load() // others read the one in force
			now.filed = now.document
			g.view.Store(&now)
			g.reload.Saved(by)
		},
		Counts: func() ([]datapath.Count, error) { return g.data.Counts() },
		Events: &g.events, Log: g.log,
	})
}

func (v *view) chains() chains.InForce {
	return chains.InForce{Document: v.document, Saved: v.filed.Config.Chains, Generation: v.generation, Numbers: v.numbers, Backends: v.backends.Backends}
}
