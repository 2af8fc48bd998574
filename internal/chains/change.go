package chains

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// InsertFunction puts a function into a chain.
func (s *Service) InsertFunction(r api.ChainRequest) (api.ChainChange, error) {
	return s.change(r, func(d *config.Document) (*config.Document, error) {
		next, _, err := d.Insert(r.Chain, []byte(r.Function), placeOf(r))
		return next, err
	})
}

// RemoveFunction takes a function out of a chain.
func (s *Service) RemoveFunction(r api.ChainRequest) (api.ChainChange, error) {
	return s.change(r, func(d *config.Document) (*config.Document, error) { return d.Remove(r.Chain, r.Function) })
}

// MoveFunction puts a function of a chain to another place.
func (s *Service) MoveFunction(r api.ChainRequest) (api.ChainChange, error) {
	return s.change(r, func(d *config.Document) (*config.Document, error) {
		return d.Move(r.Chain, r.Function, placeOf(r))
	})
}

func placeOf(r api.ChainRequest) config.Place {
	return config.Place{Before: r.Before, After: r.After, Priority: r.Priority}
}

// change edits what is in force, not the file, and puts it into force as a reload
// would.
func (s *Service) change(r api.ChainRequest, edit func(*config.Document) (*config.Document, error)) (api.ChainChange, error) {
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	before := s.options.InForce()
	if err := r.Expected.Check(before.Generation); err != nil {
		return api.ChainChange{}, err
	}
	d, err := edit(before.Document)
	if err == nil {
		err = s.options.Put(d)
	}
	if err != nil {
		return api.ChainChange{}, err
	}
	v := s.options.InForce()
	done := api.ChainChange{Generation: v.Generation, Chain: r.Chain, Functions: []string{}}
	ch, _ := v.Document.Config.Chain(r.Chain)
	for _, f := range ch.Functions {
		done.Functions = append(done.Functions, f.Name)
	}
	s.options.Events.Emit(event.ChainChanged{Chain: r.Chain, Functions: done.Functions, Generation: v.Generation})
	s.options.Log.Info("chain changed", "chain", r.Chain, "functions", done.Functions, "generation", v.Generation)
	return done, nil
}

// SaveChains writes the functions of the chains that commands changed. The file may have changed since it was read, but
// not in the functions that are to be written.
func (s *Service) SaveChains(r api.Request) (api.ChainsSaved, error) {
	s.options.Changing.Lock()
	defer s.options.Changing.Unlock()
	v := s.options.InForce()
	done := api.ChainsSaved{Config: s.options.File, Chains: []string{}}
	if err := r.Expected.Check(v.Generation); err != nil {
		return done, err
	}
	file, err := config.Read(s.options.File)
	if err != nil {
		return done, err
	}
	next := file
	for i, ch := range v.Document.Config.Chains {
		if len(v.changes(i)) == 0 {
			continue
		}
		theirs, known := file.Config.Chain(ch.Name)
		if !known || !sameFunctions(theirs, v.Saved[i]) && !sameFunctions(theirs, ch) {
			return done, fmt.Errorf("%s: chain %s is not as it was loaded: nothing is saved; after a reload make the changes again", s.options.File, ch.Name)
		}
		if next, err = next.Take(ch.Name, v.Document); err != nil {
			return done, fmt.Errorf("%s: %w", s.options.File, err)
		}
		done.Chains = append(done.Chains, ch.Name)
	}
	if len(done.Chains) == 0 {
		return done, nil
	}
	if err := next.Save(); err != nil {
		return done, err
	}
	s.options.SetSaved(r.By)
	s.options.Log.Info("chains saved", "chains", done.Chains, "file", s.options.File)
	return done, nil
}

// Lost counts the changes by command that a configuration does not have.
func (v InForce) Lost(c *config.Config) (n int) {
	for i, ch := range v.Document.Config.Chains {
		if is, _ := c.Chain(ch.Name); !sameFunctions(is, ch) {
			n += len(v.changes(i))
		}
	}
	return n
}

// changes says what commands did to chain i that the file does not have.
func (v InForce) changes(i int) []string {
	return settings.Differences(v.Saved[i].Functions, v.Document.Config.Chains[i].Functions)
}

func sameFunctions(a, b settings.Chain) bool {
	return slices.EqualFunc(a.Functions, b.Functions, func(x, y settings.Function) bool { return reflect.DeepEqual(x, y) })
}
