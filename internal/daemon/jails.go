package daemon

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/guard/jail"
	"github.com/realmgate/realmgate/internal/guard/jail/settings"
)

func (g guardServices) newJails() *jail.Service {
	return jail.New(jail.Hooks{Events: &g.events, Log: g.log, Ban: func(w settings.Jail, o jail.Offence) error {
		_, err := g.bans.Offend([]ban.Offence{{Address: o.Address, Reason: fmt.Sprintf("jail %s: %d failures", o.Jail, o.Count)}}, w.BanTime)
		return err
	}})
}

// prepareJails has the jails of a file follow.
func (g guardServices) prepareJails(d *draft) (change, error) {
	if !d.wanted.read {
		return change{}, nil
	}
	return g.jails.Prepare(d.config.Jails)
}
