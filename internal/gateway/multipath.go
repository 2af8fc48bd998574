package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/health"
	"github.com/realmgate/realmgate/internal/model"
)

// balance is a function "multipath" and what is known of its backends. One that a reload
// leaves as it is goes on with what it knows.
type balance struct {
	name   string // of the function, as countName
	config config.Multipath
	paths  *chain.Paths

	mutex  sync.Mutex
	states []health.State // of the backends
	due    []bool         // backends whose state is not in force everywhere

	stop  context.CancelFunc // nil while nobody asks the backends
	ended sync.WaitGroup
}

func newBalance(name string, m config.Multipath) *balance {
	b := &balance{name: name, config: m, paths: chain.NewPaths(backendsOf(m)), states: make([]health.State, len(m.Backends)), due: make([]bool, len(m.Backends))}
	for i := range b.states {
		b.states[i] = health.New()
	}
	return b
}

func backendsOf(m config.Multipath) []chain.Backend {
	list := make([]chain.Backend, len(m.Backends))
	for i, b := range m.Backends {
		list[i] = chain.Backend{Address: b.To, Port: b.Port, Weight: b.Weight}
	}
	return list
}

// balances are those of a view, by the names of their functions.
type balances map[string]*balance

// balancesOf takes those that a view before has just the same, and makes the others.
func balancesOf(c *config.Config, before balances) balances {
	all := balances{}
	for _, ch := range c.Chains {
		for _, f := range ch.Functions {
			if f.Use != config.UseMultipath {
				continue
			}
			name := countName(ch.Name, f.Name)
			if old := before[name]; old != nil && reflect.DeepEqual(old.config, f.Multipath) {
				all[name] = old
			} else {
				all[name] = newBalance(name, f.Multipath)
			}
		}
	}
	return all
}

// prepareBackends gives a draft what is known of its backends.
func (g *Gateway) prepareBackends(d *draft) (change, error) {
	var before balances
	if d.before != nil {
		before = d.before.balances
	}
	d.balances = balancesOf(d.config, before)
	return change{
		Settle: func() {
			before.close(d.balances)
			if g.attend != nil {
				g.attend(d.balances)
			}
		},
		Discard: func() { d.balances.close(before) },
	}, nil
}

// runBackends has backends asked until ctx ends.
func (g *Gateway) runBackends(ctx context.Context) {
	g.reload.Lock()
	g.attend = func(s balances) { s.begin(ctx, g) }
	g.attend(g.view.Load().balances)
	g.reload.Unlock()
	<-ctx.Done()
	g.reload.Lock() // the control socket does not wait for long for what was asked
	defer g.reload.Unlock()
	g.view.Load().balances.close(nil)
	g.attend = nil
}

// reportBackends says which functions have backends that are down.
func (g *Gateway) reportBackends(s *api.Status) error {
	s.Remedies = append(s.Remedies, g.view.Load().balances.remedies()...)
	return nil
}

// close gives up those that others do not have. Nobody asks their backends any more when
// it returns.
func (s balances) close(but balances) {
	for name, b := range s {
		if but[name] != b {
			b.end()
			b.paths.Close()
		}
	}
}

// begin has the backends asked by which there is to know of, until ctx ends.
func (s balances) begin(ctx context.Context, g *Gateway) {
	for _, b := range s {
		if b.stop != nil || !b.config.Checked {
			continue
		}
		var own context.Context
		own, b.stop = context.WithCancel(ctx)
		for place := range b.config.Backends {
			b.ended.Go(func() { g.watchBackend(own, b, place) })
		}
	}
}

func (b *balance) end() {
	if b.stop != nil {
		b.stop()
		b.ended.Wait()
		b.stop = nil
	}
}

// endpoint is where a backend is asked.
func (b *balance) endpoint(place int) netip.AddrPort {
	backend := b.config.Backends[place]
	if port := b.config.Check.Port; port != 0 {
		return netip.AddrPortFrom(backend.To, port)
	}
	return netip.AddrPortFrom(backend.To, backend.Port)
}

// watchBackend asks a backend again and again until ctx ends, one question at a time.
func (g *Gateway) watchBackend(ctx context.Context, b *balance, place int) {
	c := b.config.Check
	probe := health.Probe{Endpoint: b.endpoint(place), Path: c.HTTP, Timeout: c.Timeout}
	again := time.NewTicker(c.Every)
	defer again.Stop()
	for {
		fault := probe.Ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if err := g.heard(b, place, fault); err != nil {
			g.log.Error("a backend's state is not in force", "function", b.name, "backend", probe.Endpoint, "error", err)
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
func (g *Gateway) heard(b *balance, place int, fault error) error {
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
		g.log.Info("a backend is up", "function", b.name, "backend", backend.To, "port", backend.Port)
	default:
		g.log.Warn("a backend is down", "function", b.name, "backend", backend.To, "port", backend.Port, "error", now.Fault)
	}
	if !due {
		return nil
	}
	err := b.paths.Set(place, now.Up)
	if err == nil && !now.Up {
		err = g.endAt(backend)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.due[place] = err != nil
	return err
}

// endAt ends the flows without a connection to a backend that is down: their next packets
// are of new flows, which go to another. TCP knows of its end by itself, or goes on.
func (g *Gateway) endAt(b config.Backend) error {
	_, err := g.data.EndSessions(func(s datapath.Session) bool {
		return s.Origin == "static" && s.Protocol != model.TCP && s.Private.Addr() == b.To && (b.Port == 0 || s.Protocol == model.ICMP || s.Private.Port() == b.Port)
	})
	return err
}

// up counts the backends that are.
func (b *balance) up() (n int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, s := range b.states {
		if s.Up {
			n++
		}
	}
	return n
}

// backends tells what is known of a function's backends; nil for other functions.
func (s balances) backends(name string) (list []api.Backend) {
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

// remedies says which functions have backends that are down.
func (s balances) remedies() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		b := s[name]
		if up, all := b.up(), len(b.config.Backends); up < all {
			list = append(list, fmt.Sprintf("function %s: %d of %d backends are down: see realmgate chain show", name, all-up, all))
		}
	}
	return list
}
