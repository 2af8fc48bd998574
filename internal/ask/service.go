package ask

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lifecycle"
	nfask "github.com/realmgate/realmgate/internal/nf/ask"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// Plane is what the service needs of the data plane. *datapath.Datapath is one.
type Plane interface{ plane }

// Options are what a Service needs.
type Options struct {
	// Plane is there once the service runs.
	Plane func() Plane
	// Web sends again what became the SYN to a web host: the frame that is held is none that its client has sent. False: the flow,
	// by its tuple outside, is none of the web.
	Web WebAgain
	Log *slog.Logger
}

// Set is the askers of a configuration, by the names of their functions.
type Set map[string]*Asker

// Name is how a function of a chain is called.
type Name func(chain, function string) string

// Make takes the askers that a set before has just the same, and makes the others.
func Make(chains []settings.Chain, before Set, name Name) Set {
	all := Set{}
	for _, ch := range chains {
		for _, f := range ch.Functions {
			settings, is := f.Settings.(nfask.Settings)
			if !is {
				continue
			}
			called := name(ch.Name, f.Name)
			if old := before[called]; old != nil && reflect.DeepEqual(old.config, settings) {
				all[called] = old
			} else {
				all[called] = newAsker(called, settings)
			}
		}
	}
	return all
}

// close gives up those that others do not have.
func (s Set) close(but Set) {
	for name, a := range s {
		if but[name] != a {
			a.end()
			a.Line.Close()
		}
	}
}

// Service has the programs of the set in force asked. Call New.
type Service struct {
	Options

	mutex   sync.Mutex      // guards what follows
	current Set             // in force
	asking  context.Context // nil while the daemon does not serve
}

// New makes a service without programs.
func New(o Options) *Service { return &Service{Options: o} }

// Prepare makes the set of a configuration. It takes over what stays.
func (s *Service) Prepare(chains []settings.Chain, name Name) (Set, lifecycle.Change) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before := s.current
	next := Make(chains, before, name)
	return next, lifecycle.Change{
		Settle: func() {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			before.close(next)
			s.current = next
			s.start()
		},
		Discard: func() { next.close(before) },
	}
}

// Run has the programs asked until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.mutex.Lock()
	s.asking = ctx
	s.start()
	s.mutex.Unlock()
	<-ctx.Done()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asking = nil
	for _, a := range s.current {
		a.end()
	}
	return nil
}

// Stop gives up the set in force, when no reload goes on any more.
func (s *Service) Stop() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.current.close(nil)
	s.current = nil
	return nil
}

// start has those asked that nobody asks yet. Under the lock.
func (s *Service) start() {
	if s.asking == nil {
		return
	}
	for _, a := range s.current {
		if a.stop == nil {
			a.start(s.asking, &s.Options)
		}
	}
}

// Report says which programs are away.
func (s *Service) Report(status *api.Status) error {
	s.mutex.Lock()
	set := s.current
	s.mutex.Unlock()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if err := set[name].away(); err != nil {
			status.Warnings = append(status.Warnings, fmt.Sprintf("function %s: its program is away, and flows go by its key fail: %v", name, err))
		}
	}
	return nil
}
