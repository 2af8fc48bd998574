package daemon

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/diagnose"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/outbound"
)

// Reload implements api.Gateway: the file is read and checked whole before
// anything changes, and what was in force is put back if a step fails.
func (g *Daemon) Reload(expected api.Expected) (done api.Reload, err error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	old := g.view.Load()
	if err := expected.Check(old.generation); err != nil {
		return api.Reload{}, err
	}
	defer func() {
		g.events.Emit(event.Reload{Generation: done.Generation, Error: event.Text(err)})
		if err != nil {
			g.log.Error("reload failed", "error", err)
		}
	}()
	d, err := config.Read(g.options.ConfigFile)
	if err != nil {
		return api.Reload{}, err
	}
	next := old.next(wanted{document: d, read: true})
	if err := g.immutable(next); err != nil {
		return api.Reload{}, err
	}
	if err := g.services.Apply(next); err != nil {
		return api.Reload{}, fmt.Errorf("%s: %w", g.options.ConfigFile, err)
	}
	c, dropped := d.Config, old.chains().Lost(d.Config)
	g.log.Info("reloaded", "generation", next.generation, "hosts", len(c.Hosts), "dropped_changes", dropped)
	return api.Reload{Generation: next.generation, Hosts: len(c.Hosts), Dropped: dropped}, nil
}

// immutable returns an error for each change that only a restart can make.
func (g *Daemon) immutable(d *draft) error {
	var errs []error
	for _, key := range g.services.Immutable(d) {
		errs = append(errs, fmt.Errorf("%s: %s changed: restart the daemon to change it", g.options.ConfigFile, key))
	}
	return errors.Join(errs...)
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
