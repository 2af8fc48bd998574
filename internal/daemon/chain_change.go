package daemon

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// InsertFunction implements api.Gateway.
func (g commands) InsertFunction(r api.ChainRequest) (api.ChainChange, error) {
	return g.changeChain(r, func(d *config.Document) (*config.Document, error) {
		next, _, err := d.Insert(r.Chain, []byte(r.Function), placeOf(r))
		return next, err
	})
}

// RemoveFunction implements api.Gateway.
func (g commands) RemoveFunction(r api.ChainRequest) (api.ChainChange, error) {
	return g.changeChain(r, func(d *config.Document) (*config.Document, error) { return d.Remove(r.Chain, r.Function) })
}

// MoveFunction implements api.Gateway.
func (g commands) MoveFunction(r api.ChainRequest) (api.ChainChange, error) {
	return g.changeChain(r, func(d *config.Document) (*config.Document, error) {
		return d.Move(r.Chain, r.Function, placeOf(r))
	})
}

func placeOf(r api.ChainRequest) config.Place {
	return config.Place{Before: r.Before, After: r.After, Priority: r.Priority}
}

// changeChain edits what is in force, not the file, and puts it into force as a reload
// would.
func (g commands) changeChain(r api.ChainRequest, edit func(*config.Document) (*config.Document, error)) (api.ChainChange, error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	old := g.view.Load()
	d, err := edit(old.document)
	if err != nil {
		return api.ChainChange{}, err
	}
	v := old.next(wanted{document: d, outbound: g.outbound.Addresses(), lists: old.lists})
	if err := g.services.Apply(v); err != nil {
		return api.ChainChange{}, err
	}
	done := api.ChainChange{Generation: v.generation, Chain: r.Chain, Functions: []string{}}
	ch, _ := v.config.Chain(r.Chain)
	for _, f := range ch.Functions {
		done.Functions = append(done.Functions, f.Name)
	}
	g.events.Emit(event.ChainChanged{Chain: r.Chain, Functions: done.Functions, Generation: v.generation})
	g.log.Info("chain changed", "chain", r.Chain, "functions", done.Functions, "generation", v.generation)
	return done, nil
}

// SaveChains implements api.Gateway. The file may have changed since it was read, but
// not in the functions that are to be written.
func (g commands) SaveChains() (api.ChainsSaved, error) {
	g.reload.Lock()
	defer g.reload.Unlock()
	v := g.view.Load()
	done := api.ChainsSaved{Config: g.options.ConfigFile, Chains: []string{}}
	file, err := config.Read(g.options.ConfigFile)
	if err != nil {
		return done, err
	}
	next := file
	for i, ch := range v.config.Chains {
		if len(v.changes(i)) == 0 {
			continue
		}
		theirs, known := file.Config.Chain(ch.Name)
		if !known || !sameFunctions(theirs, v.saved[i]) && !sameFunctions(theirs, ch) {
			return done, fmt.Errorf("%s: chain %s is not as it was loaded: nothing is saved; after a reload make the changes again",
				g.options.ConfigFile, ch.Name)
		}
		if next, err = next.Take(ch.Name, v.document); err != nil {
			return done, fmt.Errorf("%s: %w", g.options.ConfigFile, err)
		}
		done.Chains = append(done.Chains, ch.Name)
	}
	if len(done.Chains) == 0 {
		return done, nil
	}
	if err := next.Save(); err != nil {
		return done, err
	}
	now := *v // others read the one in force
	now.saved = v.config.Chains
	g.view.Store(&now)
	g.log.Info("chains saved", "chains", done.Chains, "file", g.options.ConfigFile)
	return done, nil
}

// unlike counts the changes by command that a configuration does not have.
func (v *view) unlike(c *config.Config) (n int) {
	for i, ch := range v.config.Chains {
		if is, _ := c.Chain(ch.Name); !sameFunctions(is, ch) {
			n += len(v.changes(i))
		}
	}
	return n
}

// changes says what commands did to chain i that the file does not have.
func (v *view) changes(i int) []string {
	return settings.Differences(v.saved[i].Functions, v.config.Chains[i].Functions)
}

func sameFunctions(a, b settings.Chain) bool {
	return slices.EqualFunc(a.Functions, b.Functions, func(x, y settings.Function) bool { return reflect.DeepEqual(x, y) })
}
