package allocation

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

// guests are names of which some come and go.
type guests struct {
	named
	here map[model.Name]pool.Service
}

func (g guests) Find(asked model.Name) (model.Name, model.Name, bool) {
	if _, here := g.here[asked]; here {
		return asked, asked, true
	}
	return g.named.Find(asked)
}

func (g guests) Registered(name model.Name) (pool.Service, bool) {
	s, here := g.here[name]
	return s, here
}

func (g guests) EachRegistered(visit func(pool.Service)) {
	for _, s := range g.here {
		visit(s)
	}
}

func (g guests) CountRegistered() int { return len(g.here) }

// A service that has registered itself is answered as others are. When it goes its binding leaves the data plane and
// rests, and a reload meanwhile changes nothing about it.
func TestRegisteredServiceComesAndGoes(t *testing.T) {
	w := newWorld(t, 1, named{web(1)})
	g := guests{w.services, map[model.Name]pool.Service{}}
	c := w.config()
	c.Names = g
	if err := w.Configure(c); err != nil {
		t.Fatal(err)
	}
	guest := web(9)
	if _, err := w.ask(client, guest); !errors.Is(err, nameserver.ErrRefused) {
		t.Fatalf("it is answered before it is there: %v", err)
	}
	w.pass(rest) // the first one's place, which nobody used
	g.here[guest.Name] = guest
	w.Registered(nil)
	at := w.mustAsk(client, guest)
	if err := w.Configure(c); err != nil {
		t.Fatal(err)
	}
	if again := w.mustAsk(stranger(1), guest); again != at {
		t.Errorf("after a reload it is at %s, not %s", again, at)
	}
	names := func() (list []string) {
		for _, row := range w.Names(api.Filter{}) {
			list = append(list, row.Service)
		}
		return list
	}
	if got := names(); !slices.Equal(got, []string{web(1).Name.String(), guest.Name.String()}) {
		t.Errorf("%q", got)
	}
	if p, _ := w.Statistics(); p.Services != 2 {
		t.Errorf("%+v", p)
	}
	delete(g.here, guest.Name)
	w.Registered([]model.Name{guest.Name, web(1).Name})
	for b := range maps.Values(w.plane.bindings) {
		if b.Host == guest.Host && b.Open {
			t.Errorf("its binding is open: %+v", b)
		}
	}
	if _, err := w.ask(stranger(5), web(1)); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("its place does not rest: %v", err)
	}
	if _, tallied := w.tally[guest.Name]; tallied || len(names()) != 1 {
		t.Errorf("it is remembered: %q", names())
	}
}

// Who a host is, whatever its name, outlives a restart: what rests is its own then, and nobody else's.
func TestIdentityIsKept(t *testing.T) {
	t.Parallel()
	s := web(9)
	s.Identity = "home.example. dnsmasq leases aa"
	if got := keep(pool.Binding{Service: s, State: pool.Resting}).service(); !reflect.DeepEqual(got, s) {
		t.Errorf("%+v became %+v", s, got)
	}
}
