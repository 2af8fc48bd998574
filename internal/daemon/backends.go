package daemon

import "github.com/realmgate/realmgate/internal/ruleset"

func (g kernelServices) openBackends(d *draft) (change, error) {
	g.backends.SetData(g.data)
	return g.prepareBackends(d)
}

// prepareBackends gives a draft what is known of its backends.
func (g kernelServices) prepareBackends(d *draft) (c change, _ error) {
	d.backends, c = g.backends.Prepare(d.config.Chains, ruleset.Name)
	return c, nil
}
