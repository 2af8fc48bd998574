package daemon

import (
	"github.com/realmgate/realmgate/internal/ask"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset"
)

func (g kernelServices) newAsked() *ask.Service {
	return ask.New(ask.Options{
		Plane:  func() ask.Plane { return g.data },
		Web:    func(flow model.Tuple) (bool, error) { return g.web.Again(flow) },
		Events: &g.events,
		Log:    g.log,
	})
}

// prepareAsked gives a draft those who ask its programs.
func (g kernelServices) prepareAsked(d *draft) (c change, _ error) {
	d.askers, c = g.asked.Prepare(d.config.Chains, ruleset.Name)
	return c, nil
}
