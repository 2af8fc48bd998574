package jail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/guard/jail/settings"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

// tellEvery is how often events tell which jails fail.
const tellEvery = time.Second

// Events hears which jails fail.
type Events interface {
	Emit(event.Event)
}

// Hooks are what a Service needs.
type Hooks struct {
	Events Events
	// Ban bans who offends; its error is for the log.
	Ban func(settings.Jail, Offence) error
	Log *slog.Logger
}

// Compiled is a jail that can run, once.
type Compiled struct {
	settings.Jail
	log *Jail
}

// CompileAll makes the jails of a configuration.
func CompileAll(wanted []settings.Jail) ([]Compiled, error) {
	list := make([]Compiled, 0, len(wanted))
	for _, w := range wanted {
		compiled, err := Compile(Options{
			Name: w.Name, File: w.File, Command: w.Command, Patterns: w.Patterns, MaxRetry: w.MaxRetry, FindTime: w.FindTime,
		})
		if err != nil {
			return nil, fmt.Errorf("jails: %s: %w", w.Name, err)
		}
		list = append(list, Compiled{w, compiled})
	}
	return list, nil
}

// Service runs the jails of the configuration in force. Call New.
type Service struct {
	Hooks

	changing sync.Mutex              // held while others run than before; guards what follows
	launch   func(Compiled) *started // nil: the daemon does not serve
	wanted   []Compiled

	mutex   sync.Mutex // guards what follows, and what is told of it
	running []*started
}

// New makes a service without jails.
func New(h Hooks) *Service { return &Service{Hooks: h} }

// started is a jail that runs until it is stopped.
type started struct {
	Compiled
	stop    context.CancelFunc
	ended   chan struct{}
	failing bool // as it was told last. Under Service.mutex
}

// Prepare compiles the jails of a configuration.
func (s *Service) Prepare(wanted []settings.Jail) (lifecycle.Change, error) {
	compiled, err := CompileAll(wanted)
	if err != nil {
		return lifecycle.Change{}, err
	}
	return lifecycle.Change{Settle: func() {
		for _, name := range s.follow(compiled) {
			s.Events.Emit(event.JailRecovered{Jail: name})
		}
	}}, nil
}

// Run runs the jails until ctx ends, and tells which fail.
func (s *Service) Run(ctx context.Context) error {
	s.begin(func(w Compiled) *started { return s.start(ctx, w) })
	defer s.end()
	tell := time.NewTicker(tellEvery)
	defer tell.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tell.C:
			s.tell()
		}
	}
}

// start runs a jail until ctx ends, or it is stopped.
func (s *Service) start(ctx context.Context, w Compiled) *started {
	ctx, stop := context.WithCancel(ctx)
	r := &started{Compiled: w, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		w.log.Run(ctx, SystemClock(), func(o Offence) {
			if err := s.Ban(w.Jail, o); err != nil {
				s.Log.Warn("offender not banned", "jail", w.Name, "address", o.Address, "failures", o.Count, "error", err)
			}
		})
	}()
	return r
}

// begin runs the first jails.
func (s *Service) begin(launch func(Compiled) *started) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.launch = launch
	_ = s.run(s.wanted) // nothing was told before
}

// end stops all of them, for good.
func (s *Service) end() {
	s.changing.Lock()
	defer s.changing.Unlock()
	_ = s.run(nil) // they are not taken away: the next daemon tells of them
	s.launch = nil
}

// follow runs just the jails that are wanted, from when the service runs on.
func (s *Service) follow(wanted []Compiled) (gone []string) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.wanted = wanted
	return s.run(wanted)
}

// run runs just the jails that are wanted. One that runs already goes on with what it
// has counted. Those that are no more have stopped when it returns: they ban nobody later.
// A new one in the place of one that fails, by name, fails until it reads its log. The names
// that have failed and are no more are returned.
func (s *Service) run(wanted []Compiled) (gone []string) {
	if s.launch == nil {
		return nil
	}
	old := map[string]*started{}
	for _, r := range s.running {
		old[r.Name] = r
	}
	next := make([]*started, len(wanted))
	for i, w := range wanted {
		if r := old[w.Name]; r != nil && reflect.DeepEqual(r.Jail, w.Jail) {
			next[i] = r
			delete(old, w.Name)
		}
	}
	for _, r := range old {
		r.stop()
	}
	for _, r := range old {
		<-r.ended
	}
	for i, w := range wanted {
		if next[i] == nil {
			next[i] = s.launch(w)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.running = next
	for name, r := range old {
		if !r.failing {
			continue
		}
		if i := slices.IndexFunc(next, func(n *started) bool { return n.Name == name }); i >= 0 {
			next[i].failing = true
		} else {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}

// tell tells which jails fail since the last look, and which no longer do. Of one
// that was just launched neither may be known.
func (s *Service) tell() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.running {
		status := r.log.Status()
		switch {
		case status.Error != "" && !r.failing:
			s.Events.Emit(event.JailFailed{Jail: r.Name, Error: event.Text(errors.New(status.Error))})
			r.failing = true
		case status.Reads && r.failing:
			s.Events.Emit(event.JailRecovered{Jail: r.Name})
			r.failing = false
		}
	}
}

// Report says which jails cannot read their logs.
func (s *Service) Report(status *api.Status) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.running {
		if fault := r.log.Status().Error; fault != "" {
			status.Warnings = append(status.Warnings, fmt.Sprintf("jail %s bans nobody now: %s: see realmgate jails", r.Name, fault))
		}
	}
	return nil
}

// Jails implements api.JailCommands.
func (s *Service) Jails() ([]api.Jail, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	list := []api.Jail{}
	for _, r := range s.running {
		did := r.log.Status()
		list = append(list, api.Jail{
			Name: r.Name, File: r.File, Command: r.Command, Lines: did.Lines, Skipped: did.Skipped, Failures: did.Failures, NoAddress: did.NoAddress,
			Offences: did.Offences, Forgotten: did.Forgotten, Ends: did.Ends, Error: did.Error, Stderr: did.Stderr,
		})
	}
	return list, nil
}
