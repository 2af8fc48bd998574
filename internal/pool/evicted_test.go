package pool

import (
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// chain is a pool of one address. a. of foo.example gave it to c. of bar.example with a session standing, at 200 s.
func chain(t *testing.T, more ...Service) (p *Pool, d *data, a Binding, o Options) {
	t.Helper()
	o, d = single(), newData()
	d.attach(&o)
	c := service("c.", "c.", "tcp/443")
	c.Zones = zones("bar.example.")
	p = newPool(t, o, append([]Service{service("a.", "a.", "tcp/443"), c}, more...)...)
	a = visit(t, p, second, "a.")
	d.session(2*second, a.ID, 1)
	expire(p, 200*second)
	visit(t, p, 200*second, "c.")
	return p, d, a, o
}

// Whoever had the place in between, a browser takes the session with a. for a name of b.
func TestStandingSessionsOutliveTheNextOwner(t *testing.T) {
	b := service("b.", "b.", "tcp/80")
	p, d, a, _ := chain(t, b)
	mustExhaust(t, p, 400*second, "b.")
	p.SetServices(410*second, []Service{b})
	mustExhaust(t, p, 600*second, "b.") // nobody has the place
	if placed := p.Place(600 * second); len(placed) != 0 {
		t.Fatalf("placed %s", addressesOf(placed))
	}
	d.session(610*second, a.ID, -1)
	mustBind(t, p, 610*second, "b.")
	if n := len(p.evicted.slots) + len(p.evicted.at); n != 0 {
		t.Fatalf("%d entries of sessions that have ended", n)
	}
}

func TestStandingSessionsBlockWhatCouldTakeThem(t *testing.T) {
	of := func(s Service, names ...string) Service {
		s.Zones = nil
		for _, n := range names {
			s.Zones = append(s.Zones, zones("foo.example.", "bar.example.", "baz.example.")[len(n)-1])
		}
		return s
	}
	for name, c := range map[string]struct {
		next    Service
		blocked bool
	}{
		"web":             {service("b.", "b.", "tcp/80"), true},
		"QUIC":            {service("b.", "b.", "udp/443"), true},
		"everything":      {service("b.", "b.", "all"), true},
		"one zone of two": {of(service("b.", "b.", "tcp/443"), "xxx", "x"), true},
		"other zone":      {of(service("b.", "b.", "tcp/443"), "xxx"), false},
		"not web":         {service("b.", "b.", "tcp/22"), false},
		"its own":         {service("a2.", "a.", "tcp/443"), false},
	} {
		p, _, _, _ := chain(t, c.next)
		expire(p, 400*second)
		if _, _, _, err := p.Bind(400*second, c.next.Name); (err != nil) != c.blocked {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An address that leaves the pool and comes back, and another process, have the sessions still.
func TestStandingSessionsAreRememberedOfAddresses(t *testing.T) {
	b := service("b.", "b.", "tcp/443")
	p, d, a, o := chain(t, b)
	away := o
	away.Addresses = testAddresses[1:2]
	for n, addresses := range []Options{away, o} {
		at := second * model.Instant(400+200*n) // what stands there rests
		if _, err := p.Reconfigure(at, addresses); err != nil {
			t.Fatal(err)
		}
		p.Advance(at + 199*second)
	}
	p.SetServices(1000*second, []Service{b})
	mustExhaust(t, p, 1000*second, "b.")

	next := newPool(t, o)
	next.AdoptEvicted(a.ID, a.Address, a.Service)
	next.SetServices(1000*second, []Service{b})
	mustExhaust(t, next, 1000*second, "b.")
	d.session(1001*second, a.ID, -1)
	mustBind(t, next, 1001*second, "b.")
}

// A service that gets a name in a zone of sessions that stand at its address leaves it; else a new name moves nobody.
func TestNewZones(t *testing.T) {
	for _, stands := range []int{0, 1} {
		p, d, a, _ := chain(t)
		if stands == 0 {
			d.session(201*second, a.ID, -1)
		}
		both := service("c.", "c.", "tcp/443")
		both.Zones = zones("bar.example.", "foo.example.")
		if withdrawn, _ := p.SetServices(202*second, []Service{both}); len(withdrawn) != stands {
			t.Errorf("%d sessions: withdrawn %s", stands, addressesOf(withdrawn))
		}
	}
}

// A binding keeps the zones it had, as sessions of them may stand.
func TestZonesThatServicesLose(t *testing.T) {
	o, d := single(), newData()
	d.attach(&o)
	both, b := service("a.", "a.", "tcp/443"), service("b.", "b.", "tcp/443")
	both.Zones = zones("bar.example.", "foo.example.")
	p := newPool(t, o, both)
	a := visit(t, p, second, "a.")
	d.session(2*second, a.ID, 1)
	both.Zones = zones("bar.example.")
	p.SetServices(3*second, []Service{both, b})
	mustExhaust(t, p, 200*second, "b.")
	d.session(201*second, a.ID, -1)
	mustBind(t, p, 400*second, "b.")
}

// There is one entry for each slot, whoever asks or does not.
func TestEvictionsAreBounded(t *testing.T) {
	o, d := single(), newData()
	o.Bindings = 3
	d.attach(&o)
	a, c := service("a.", "a.", "tcp/443"), service("c.", "c.", "tcp/443")
	c.Zones = zones("bar.example.")
	p := newPool(t, o, a, c)
	for n := range 20 {
		b := visit(t, p, second*model.Instant(1+200*n), string([]model.Name{"a.", "c."}[n%2]))
		d.session(b.Used, b.ID, 1)
		for id := range d.sessions {
			if id != b.ID {
				d.sessions[id] = 0
			}
		}
		expire(p, second*model.Instant(150+200*n))
		if len(p.evicted.slots) > o.Bindings || len(p.evicted.at[testAddresses[0]]) != len(p.evicted.slots) {
			t.Fatalf("%d entries, %d of the address", len(p.evicted.slots), len(p.evicted.at[testAddresses[0]]))
		}
	}
}
