package balance

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/health"
	"github.com/realmgate/realmgate/internal/lifecycle"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/multipath"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// Backends is a function "multipath" and what is known of its backends.
type Backends struct {
	Paths  *multipath.Paths
	name   string // of the function
	config multipath.Settings
	set    func(place int, up bool) error // of Paths

	mutex  sync.Mutex
	states []health.State // of the backends
	due    []bool         // backends whose state is not in force everywhere

	stop  context.CancelFunc // nil while nobody asks the backends
	ended sync.WaitGroup
}

func newBackends(name string, m multipath.Settings) *Backends {
	paths := multipath.NewPaths(m.Backends)
	b := &Backends{Paths: paths, name: name, config: m, set: paths.Set, states: make([]health.State, len(m.Backends)), due: make([]bool, len(m.Backends))}
	for i := range b.states {
		b.states[i] = health.New()
	}
	return b
}

// Set is the backends of a configuration, by the names of their functions.
type Set map[string]*Backends

// Name is how a function of a chain is called.
type Name func(chain, function string) string

// Make takes the backends that a set before has just the same, and makes the others.
func Make(chains []settings.Chain, before Set, name Name) Set {
	all := Set{}
	for _, ch := range chains {
		for _, f := range ch.Functions {
			settings, is := f.Settings.(multipath.Settings)
			if !is {
				continue
			}
			called := name(ch.Name, f.Name)
			if old := before[called]; old != nil && reflect.DeepEqual(old.config, settings) {
				all[called] = old
			} else {
				all[called] = newBackends(called, settings)
			}
		}
	}
	return all
}

// Service has the backends of the set in force asked. Call New.
type Service struct {
	lifecycle.Workers[Set, *Backends]
	data Data
	log  *slog.Logger
}

// Data ends sessions. *datapath.Datapath is one.
type Data interface {
	EndSessions(match func(datapath.Session) bool) (int, error)
}

// SetData says who ends sessions, before Run.
func (s *Service) SetData(d Data) { s.data = d }

// New makes a service without backends.
func New(log *slog.Logger) *Service {
	s := &Service{log: log}
	s.Workers = lifecycle.Workers[Set, *Backends]{Start: s.ask, End: (*Backends).end, Close: func(b *Backends) { b.Paths.Close() }}
	return s
}

// Prepare makes the set of a configuration. It takes over what is known of backends that stay.
func (s *Service) Prepare(chains []settings.Chain, name Name) (Set, lifecycle.Change) {
	return s.Workers.Prepare(func(before Set) Set { return Make(chains, before, name) })
}

// ask has backends asked, unless somebody does.
func (s *Service) ask(ctx context.Context, b *Backends) {
	if b.stop != nil || !b.config.Checked {
		return
	}
	var own context.Context
	own, b.stop = context.WithCancel(ctx)
	for place := range b.config.Backends {
		b.ended.Go(func() { s.watch(own, b, place) })
	}
}

// end waits until nobody asks them any more.
func (b *Backends) end() {
	if b.stop != nil {
		b.stop()
		b.ended.Wait()
		b.stop = nil
	}
}

// endpoint is where a backend is asked.
func (b *Backends) endpoint(place int) netip.AddrPort {
	backend := b.config.Backends[place]
	if port := b.config.Check.Port; port != 0 {
		return netip.AddrPortFrom(backend.To, port)
	}
	return netip.AddrPortFrom(backend.To, backend.Port)
}

// watch asks a backend again and again until ctx ends, one question at a time.
func (s *Service) watch(ctx context.Context, b *Backends, place int) {
	c := b.config.Check
	probe := health.Probe{Endpoint: b.endpoint(place), Path: c.HTTP, Timeout: c.Timeout}
	again := time.NewTicker(c.Every)
	defer again.Stop()
	for {
		fault := probe.Ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if err := s.heard(b, place, fault); err != nil {
			s.log.Error("backend state not in force", "function", b.name, "backend", probe.Endpoint, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

// heard notes what a backend answered, and lets new flows go by it where that changes
// who is up. With an error that is tried again at its next answer.
func (s *Service) heard(b *Backends, place int, fault error) error {
	b.mutex.Lock()
	before := b.states[place]
	now := before.After(health.Options{Rise: b.config.Check.Rise, Fall: b.config.Check.Fall}, time.Now(), fault)
	b.states[place] = now
	b.due[place] = b.due[place] || now.Up != before.Up
	due := b.due[place]
	b.mutex.Unlock()
	backend := b.config.Backends[place]
	switch {
	case now.Up == before.Up:
	case now.Up:
		s.log.Info("backend up", "function", b.name, "backend", backend.To, "port", backend.Port)
	default:
		s.log.Warn("backend down", "function", b.name, "backend", backend.To, "port", backend.Port, "error", now.Fault)
	}
	if !due {
		return nil
	}
	err := b.set(place, now.Up)
	if err == nil && !now.Up {
		err = s.endAt(backend)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.due[place] = err != nil
	return err
}

// endAt ends the flows without a connection to a backend that is down: their next packets
// are of new flows, which go to another. TCP knows of its end by itself, or goes on.
func (s *Service) endAt(b multipath.Backend) error {
	_, err := s.data.EndSessions(func(s datapath.Session) bool {
		return s.Origin == "dnat" && s.Protocol != model.TCP && s.Private.Addr() == b.To && (b.Port == 0 || s.Protocol == model.ICMP || s.Private.Port() == b.Port)
	})
	return err
}

// Up counts the backends that are up, and all.
func (b *Backends) Up() (up, all int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, s := range b.states {
		if s.Up {
			up++
		}
	}
	return up, len(b.states)
}

// Backends tells what is known of a function's backends; nil for other functions.
func (s Set) Backends(name string) (list []api.Backend) {
	b := s[name]
	if b == nil {
		return nil
	}
	b.mutex.Lock()
	states := slices.Clone(b.states)
	b.mutex.Unlock()
	for i, c := range b.config.Backends {
		shown := api.Backend{To: c.To, Port: c.Port, Weight: c.Weight, State: "up"}
		switch s := states[i]; {
		case !b.config.Checked:
			shown.State = "unchecked"
		case !s.Asked:
		case s.Up:
			shown.Since, shown.Error = s.Since, s.Fault
		default:
			shown.State, shown.Since, shown.Error = "down", s.Since, s.Fault
		}
		list = append(list, shown)
	}
	return list
}

// Report says which functions have backends that are down.
func (s *Service) Report(status *api.Status) error {
	set := s.Current()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if up, all := set[name].Up(); up < all {
			chain, _, _ := strings.Cut(name, "/")
			status.Warnings = append(status.Warnings, fmt.Sprintf("function %s: %d of %d backends are down: see realmgate chain show %s", name, all-up, all, chain))
		}
	}
	return nil
}
