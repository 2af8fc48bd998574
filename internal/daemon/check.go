package daemon

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/balance"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/guard/jail"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/names/shared"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// Check says whether a configuration can be put into force, as far as can be told
// without the kernel: the chains' tables have limits that no single key shows.
func Check(d *config.Document) error {
	c := d.Config
	if len(c.Chains) > datapath.MostChains {
		return fmt.Errorf("chains: %d of them: at most %d", len(c.Chains), datapath.MostChains)
	}
	numbers, err := ruleset.NewNumbers(c)
	if err != nil {
		return err
	}
	if err := realm.Check(d); err != nil {
		return err
	}
	r, err := realm.RegistryOf(d)
	if err != nil {
		return err
	}
	if err := shared.Before(c, r, c.Outbound.Addresses).Check(); err != nil {
		return err
	}
	if len(c.Outbound.Addresses) > 0 { // else they are known when the gateway starts
		if _, err := ruleset.DnatOf(c, c.Outbound.Addresses, nil); err != nil {
			return err
		}
	}
	if _, err := jail.CompileAll(c.Jails); err != nil {
		return err
	}
	p, err := geo.GeofencesOf(c)
	if err != nil {
		return err
	}
	return nf.Check((&view{config: c, numbers: numbers, geofences: p, outbound: c.Outbound.Addresses, backends: balance.Make(c.Chains, nil, ruleset.Name)}).rules().Policy())
}
