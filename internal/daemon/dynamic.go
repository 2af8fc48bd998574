package daemon

import (
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/names/dynamic"
)

func (g hostServices) newDynamic() *dynamic.Service {
	return dynamic.New(dynamic.Options{
		Plane: func() dynamic.Plane { return g.data }, Pool: func() dynamic.Pool { return g.pool },
		Reconsider: func() { g.web.Reconsider(g.view.Load().realm) }, Changed: g.webHosts.Visited, Events: &g.events, Now: time.Now, Log: g.log,
	})
}

// guests puts them beside the realm of a draft.
func (g hostServices) guests(d *draft) dynamic.Configured {
	d.realm = d.realm.With(g.beside)
	return dynamic.Configured{
		File: d.document.File(), Realm: d.realm.Guests(d.config, d.outbound, d.dnat.Addresses, g.machine.Owns), Entries: d.config.Dynamic,
	}
}

// openDynamic has hosts be there again that have registered themselves, before anything asks who is there.
// What an earlier daemon led to hosts by web addresses is forgotten before others may have theirs.
func (g hostServices) openDynamic(d *draft) (change, error) {
	if err := g.data.ForgetAllWeb(); err != nil {
		return change{}, err
	}
	return g.dynamic.Open(g.store, g.guests(d))
}

func (g hostServices) prepareDynamic(d *draft) (change, error) {
	next := g.guests(d)
	if !d.wanted.read && slices.Equal(d.outbound, d.before.outbound) {
		return change{}, nil
	}
	return g.dynamic.Prepare(next), nil
}
