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
	next := func(d *config.Document) *draft { return g.view.Load().next(wanted{document: d, read: true}) }
	return reload.New(reload.Options{
		File: g.options.ConfigFile, Changing: &g.changing, Events: &g.events, Log: g.log,
		InForce:   func() (*config.Document, uint32) { v := g.view.Load(); return v.document, v.generation },
		Immutable: func(d *config.Document) []string { return g.services.Immutable(next(d)) },
		Put:       func(d *config.Document) error { return g.services.Apply(next(d)) },
		Lost:      func(c *config.Config) int { return g.view.Load().chains().Lost(c) },
		Sessions:  func(visit func(api.Session) bool) error { return g.commands().Sessions(api.Filter{}, 0, visit) },
		Failed:    g.metrics.ReloadFailed,
	})
}

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
		v.saved = d.before.saved
	}
	*d.view = *v
	return nil
}

// prepareView puts the view into force when all else is.
func (g *Daemon) prepareView(d *draft) (change, error) {
	return change{Settle: func() { g.view.Store(d.view) }}, nil
}
