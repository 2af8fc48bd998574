package ask

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/event"
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
	// Events are told when a program goes away, and when it is back.
	Events interface{ Emit(event.Event) }
	Log    *slog.Logger
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

// Service has the programs of the set in force asked. Call New.
type Service struct {
	lifecycle.Workers[Set, *Asker]
}

// New makes a service without programs.
func New(o Options) *Service {
	return &Service{lifecycle.Workers[Set, *Asker]{
		Start: func(ctx context.Context, a *Asker) { a.start(ctx, &o) }, End: (*Asker).end, Close: func(a *Asker) { a.Line.Close() },
	}}
}

// Prepare makes the set of a configuration. It takes over what stays.
func (s *Service) Prepare(chains []settings.Chain, name Name) (Set, lifecycle.Change) {
	return s.Workers.Prepare(func(before Set) Set { return Make(chains, before, name) })
}

// Report says what the programs were asked, and which are away.
func (s *Service) Report(status *api.Status) error {
	set := s.Current()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		status.Asked = append(status.Asked, set[name].report())
		if err := set[name].away(); err != nil {
			status.Warnings = append(status.Warnings, fmt.Sprintf("function %s: its program is away, and flows go by its key fail: %v", name, err))
		}
	}
	return nil
}
