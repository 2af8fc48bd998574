package daemon

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/guard/watch"
	"github.com/realmgate/realmgate/internal/guard/watch/settings"
)

func (g guardServices) newWatches() *watch.Service {
	return watch.New(watch.Hooks{Events: &g.events, Log: g.log, Ban: func(w settings.Watch, o watch.Offence) error {
		_, err := g.bans.Offend([]ban.Offence{{Address: o.Address, Reason: fmt.Sprintf("watch %s: %d hits", o.Watch, o.Count)}}, w.BanTime)
		return err
	}})
}

// prepareWatches has the watches of a file follow.
func (g guardServices) prepareWatches(d *draft) (change, error) {
	if !d.wanted.read {
		return change{}, nil
	}
	return g.watches.Prepare(d.config.Watches)
}

// Watches implements api.Gateway.
func (g commands) Watches() ([]api.Watch, error) { return g.watches.Watches() }
