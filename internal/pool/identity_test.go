package pool

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// guests are hosts that come and go in a pool, each under one name at a time.
type guests struct {
	*testing.T
	*Pool
	*data
	here    map[model.Name]Service
	now     model.Instant
	clients bool // leases say who comes
}

func newGuests(t *testing.T, o Options, services ...Service) *guests {
	g := &guests{T: t, data: newData(), here: map[model.Name]Service{}, now: second}
	o.Registered = func(name model.Name) (Service, bool) {
		s, known := g.here[name]
		return s, known
	}
	g.attach(&o)
	g.Pool = newPool(t, o, services...)
	return g
}

// comes has a host come under a name, and somebody be answered with it.
func (g *guests) comes(name string, identity string, host netip.Addr, open ...string) (Binding, error) {
	g.Helper()
	g.now++
	s := service(name, name, open...)
	s.Identity, s.Client, s.Host = identity, g.clients, host
	g.here[s.Name] = s
	g.Registered(len(g.here), nil)
	expire(g.Pool, g.now)
	b, _, _, err := g.Bind(g.now, s.Name)
	if err == nil {
		_, _, err = g.Reservations.Reserve(g.now, Request{Service: s.Name, Name: s.Name, Requester: client(1), Query: uint64(g.now)})
	}
	return b, err
}

// goes takes it away, and ends its sessions.
func (g *guests) goes(names ...string) {
	g.now++
	gone := make([]model.Name, len(names))
	for i, name := range names {
		gone[i] = model.Name(name)
		delete(g.here, gone[i])
	}
	for _, b := range g.Registered(len(g.here), gone) {
		g.session(g.now, b.ID, -g.sessions[b.ID])
	}
}

var guest = netip.MustParseAddr("10.0.0.9")

// A host that calls itself something else again and again has the place that it had, and takes none from others.
func TestRenamedHostKeepsItsPlace(t *testing.T) {
	t.Parallel()
	for about, single := range map[string]bool{"one of four addresses": false, "the only address": true} {
		o := defaults()
		if single {
			o.Addresses = o.Addresses[:1]
		}
		g := newGuests(t, o, service("a.", "a.", "tcp/22"), service("b.", "b.", "tcp/22"), service("c.", "c.", "tcp/22"))
		var first Binding
		for i := range 200 {
			name := fmt.Sprintf("guest%d.", i)
			b, err := g.comes(name, "dnsmasq 52:54:00", guest, "tcp/22", "udp/5000")
			if err != nil {
				t.Fatalf("%s: under its name %d: %v", about, i, err)
			}
			if i == 0 {
				first = b
			}
			if b.Address != first.Address {
				t.Fatalf("%s: under its name %d it is at %s, not at %s", about, i, b.Address, first.Address)
			}
			g.session(g.now, b.ID, 1)
			g.goes(name)
		}
		if s := g.Statistics(); s.Rests > 2 {
			t.Errorf("%s: %d of its bindings rest", about, s.Rests)
		}
		for _, name := range []string{"a.", "b.", "c."} {
			if _, _, _, err := g.Bind(g.now, model.Name(name)); (err != nil) != single {
				t.Errorf("%s: beside it %s gets: %v", about, name, err)
			}
		}
		// I9: nobody else before its last name has rested.
		if _, _, _, err := g.Bind((g.now - 2).Add(g.options.Rest), "a."); (err != nil) != single {
			t.Errorf("%s: just before it has rested: %v", about, err)
		}
		if _, _, _, err := g.Bind(g.now.Add(g.options.Rest), "a."); err != nil {
			t.Errorf("%s: after its rest: %v", about, err)
		}
	}
}

// What rests of a session that still stands is not forgotten for a later name.
func TestRenamedHostRestsAfterItsSessions(t *testing.T) {
	t.Parallel()
	g := newGuests(t, single(), service("a.", "a.", "tcp/22"))
	b, err := g.comes("guest.", "kea 1", guest, "tcp/22")
	if err != nil {
		t.Fatal(err)
	}
	g.session(g.now, b.ID, 1)
	g.Registered(0, []model.Name{"guest."}) // its session goes on for a while
	delete(g.here, "guest.")
	if _, err := g.comes("renamed.", "kea 1", guest, "tcp/22"); err != nil {
		t.Fatal(err)
	}
	g.goes("renamed.")
	g.now = g.now.Add(g.options.Rest) - second
	g.session(g.now, b.ID, -1)
	g.now = g.now.Add(g.options.Rest) - second
	mustExhaust(t, g.Pool, g.now, "a.")
	mustBind(t, g.Pool, g.now+second, "a.")
}

// I9: another machine that has the name, or the address, of one that has gone does not get its place before that has rested.
func TestAnotherMachineIsAnotherOwner(t *testing.T) {
	t.Parallel()
	for about, then := range map[string]struct {
		name, identity string
		host           netip.Addr
	}{
		"of the same name": {"guest.", "kea 2", guest.Next()}, "of the same name and address": {"guest.", "kea 2", guest},
		"at the same address": {"other.", "kea 2", guest}, "of another zone": {"other.", "dnsmasq 1", guest},
		"of the configuration's kind": {"guest.", "", guest},
	} {
		g := newGuests(t, single())
		b, err := g.comes("guest.", "kea 1", guest, "tcp/22")
		if err != nil {
			t.Fatal(err)
		}
		g.goes("guest.")
		if b, err := g.comes(then.name, then.identity, then.host, "tcp/22"); !errors.Is(err, ErrExhausted) && !errors.Is(err, ErrRests) {
			t.Errorf("one %s is at %s: %v", about, b.Address, err)
		}
		g.now = g.now.Add(g.options.Rest)
		if again, err := g.comes(then.name, then.identity, then.host, "tcp/22"); err != nil || again.Address != b.Address {
			t.Errorf("one %s after the rest: %v", about, err)
		}
	}
}

// A machine whose client is known to be another gets another address while one is free, however small the pool is; and so does
// a host of the configuration with another name.
func TestAnotherMachineGetsAFreeAddress(t *testing.T) {
	t.Parallel()
	g := newGuests(t, defaults())
	at := map[netip.Addr]bool{}
	for i := range testAddresses {
		name := fmt.Sprintf("guest%d.", i)
		b, err := g.clientComes(name, fmt.Sprintf("kea %d", i), guest, "tcp/22")
		if err != nil || at[b.Address] {
			t.Fatalf("machine %d at the same address inside: at %s, %v", i, b.Address, err)
		}
		at[b.Address] = true
		g.goes(name)
	}
	if _, err := g.clientComes("guest.", "kea n", guest, "tcp/22"); !errors.Is(err, ErrExhausted) {
		t.Errorf("with none left: %v", err)
	}

	old, renamed := service("old.", "old.", "tcp/22"), service("new.", "new.", "tcp/22")
	renamed.Host = old.Host
	p := newPool(t, defaults(), old)
	before := visit(t, p, second, "old.")
	p.SetServices(2*second, []Service{renamed})
	if b, _, _, err := p.Bind(2*second, "new."); err != nil || b.Address == before.Address {
		t.Errorf("another name of the configuration: at %s, %v", b.Address, err)
	}
}

// clientComes has a host come of whom a lease says the client.
func (g *guests) clientComes(name, identity string, host netip.Addr, open ...string) (Binding, error) {
	g.Helper()
	g.clients = true
	defer func() { g.clients = false }()
	return g.comes(name, identity, host, open...)
}

// Of whom nothing but an address is known, so many names rest at a time as leave others most of the pool.
func TestAddressRestsAShare(t *testing.T) {
	t.Parallel()
	o := defaults()
	o.Addresses = nil
	for a := testAddresses[0]; len(o.Addresses) < 32; a = a.Next() {
		o.Addresses = append(o.Addresses, a)
	}
	g := newGuests(t, o)
	refused := 0
	for i := range 100 {
		name := fmt.Sprintf("guest%d.", i)
		if _, err := g.comes(name, fmt.Sprintf("update %d", i), guest, "tcp/22"); err != nil {
			if !errors.Is(err, ErrRests) {
				t.Fatal(err)
			}
			refused++
		}
		g.goes(name)
	}
	if s := g.Statistics(); s.Rests != 4 || refused != 96 {
		t.Errorf("%d names rest, and %d were refused", s.Rests, refused)
	}
	if _, err := g.comes("neighbour.", "update n", guest.Next(), "tcp/22"); err != nil {
		t.Errorf("a neighbour is refused: %v", err)
	}
	g.now = g.now.Add(g.options.Rest)
	if _, err := g.comes("guest.", "update g", guest, "tcp/22"); err != nil {
		t.Errorf("after the rest: %v", err)
	}
}
