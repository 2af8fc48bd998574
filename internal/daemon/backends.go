package daemon

import "github.com/realmgate/realmgate/internal/ruleset"

// prepareBackends gives a draft what is known of its backends.
func (g kernelServices) prepareBackends(d *draft) (c change, _ error) {
	if d.before == nil {
		g.backends.SetData(g.data)
	}
	d.balances, c = g.backends.Prepare(d.config.Chains, ruleset.Name)
	return c, nil
}
