package chains

import (
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// Chains returns the chains in force, protection first, and what their functions did.
func (s *Service) Chains() ([]api.Chain, error) {
	v := s.options.InForce()
	counts, err := s.options.Counts()
	if err != nil {
		return nil, err
	}
	list := []api.Chain{}
	did := func(chain, function, use string, priority int) api.Function {
		name := ruleset.Name(chain, function)
		n := counts[v.Numbers[name]]
		return api.Function{
			Name: function, Use: use, Priority: priority, Seen: n.Seen, Accepted: n.Accepted, Dropped: n.Dropped,
			Failed: n.Failed, Samples: n.Samples, NsEach: n.Ns / max(1, n.Samples), Backends: v.Backends(name),
		}
	}
	c := v.Document.Config
	if c.Protection.Given() {
		shown := api.Chain{Name: model.ProtectionName, Match: []map[string]string{{}}}
		for _, f := range ruleset.ProtectionFunctions(c) {
			shown.Functions = append(shown.Functions, did(model.ProtectionName, f, f, 0))
		}
		list = append(list, shown)
	}
	for i, ch := range c.Chains {
		shown := api.Chain{Name: ch.Name, Match: ruleset.Matches(ch.Matches), Functions: []api.Function{}, Changes: v.changes(i)}
		for _, f := range ch.Functions {
			shown.Functions = append(shown.Functions, did(ch.Name, f.Name, f.Use, f.Priority))
		}
		list = append(list, shown)
	}
	return list, nil
}

// Report says which chains are not as the file has them.
func (s *Service) Report(status *api.Status) error {
	v := s.options.InForce()
	for i, ch := range v.Document.Config.Chains {
		if changes := v.changes(i); len(changes) > 0 {
			status.ChangedChains = append(status.ChangedChains, api.ChangedChain{Chain: ch.Name, Changes: changes})
		}
	}
	return nil
}
