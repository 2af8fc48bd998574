package daemon

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/diagnose"
	"github.com/realmgate/realmgate/internal/outbound"
	"github.com/realmgate/realmgate/internal/reload"
)

func (g *Daemon) newReload() *reload.Service {
	next := func(d, filed *config.Document) *draft {
		return g.view.Load().next(wanted{document: d, read: true, filed: filed})
	}
	return reload.New(reload.Options{
		File: g.options.ConfigFile, State: unconfirmedPath(g.options.Instance), Changing: &g.changing, Hangups: g.hangups, Events: &g.events, Log: g.log,
		InForce: func() reload.InForce {
			v := g.view.Load()
			return reload.InForce{Document: v.document, Filed: v.filed, Generation: v.generation}
		},
		Immutable: func(d *config.Document) []string { return g.services.Immutable(next(d, d)) },
		Put:       func(d, filed *config.Document) error { return g.services.Apply(next(d, filed)) },
		Lost:      func(c *config.Config) int { return g.view.Load().chains().Lost(c) },
		Sessions:  func(visit func(api.Session) bool) error { return g.flows.Sessions(api.Filter{}, 0, visit) },
		Failed:    g.metrics.ReloadFailed,
	})
}

func (g *Daemon) openReload(*draft) (change, error) { return g.reload.Open(g.store) }

// changed are the keys that are not the same, by their names.
func changed(same map[string]bool) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(same)) {
		if !same[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// openConfiguration makes of the first document what depends on nothing but the machine's interfaces and their addresses.
func (g *Daemon) openConfiguration(d *draft) (change, error) {
	if err := diagnose.Present(d.wanted.document); err != nil {
		return change{}, err
	}
	return change{}, d.make(g.outbound.Past)
}

// prepareConfiguration makes of a document what depends on nothing but the addresses of now.
func (g *Daemon) prepareConfiguration(d *draft) (change, error) {
	if old := d.before; !d.wanted.read && old.document == d.wanted.document && slices.Equal(old.outbound, d.wanted.outbound) {
		*d.view = *old
		d.lists = d.wanted.lists
		return change{}, nil
	}
	return change{}, d.make(g.outbound.Past)
}

// make makes the view of the draft's document; past tells outbound addresses that were until they left their interfaces.
func (d *draft) make(past func(netip.Addr) bool) (err error) {
	addresses := d.wanted.outbound
	if d.wanted.read {
		if addresses, err = outbound.PlanOf(d.wanted.document.Config).Look(); err != nil {
			return err
		}
	}
	v, err := newView(d.wanted.document, addresses, past, d.wanted.lists)
	if err != nil {
		return err
	}
	if !d.wanted.read {
		v.filed = d.before.filed
	} else if d.wanted.filed != nil {
		v.filed = d.wanted.filed
	}
	*d.view = *v
	return nil
}

// prepareView puts the view into force when all else is.
func (g *Daemon) prepareView(d *draft) (change, error) {
	return change{Settle: func() { g.view.Store(d.view) }}, nil
}
