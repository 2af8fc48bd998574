package pool

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// The order in which places are taken, a step a test; the property holds all of it.

func TestServicesOfOneOwnerGather(t *testing.T) {
	p := newPool(t, defaults(),
		service("www.", "a.", "tcp/80", "tcp/443"), service("ssh.", "a.", "tcp/22"), service("alt.", "a.", "tcp/80:8080"),
		service("quic.", "a.", "udp/443"), service("other.", "b.", "tcp/80"))
	at := map[model.Name]netip.Addr{}
	for _, b := range p.Place(1) {
		at[b.Service.Name] = b.Address
	}
	if at["www."] != at["ssh."] || at["www."] != at["quic."] || at["www."] == at["alt."] || at["www."] == at["other."] {
		t.Fatalf("%v", at)
	}
	if s := p.Statistics(); s.Free != 1 || s.Bound != 3 || s.Bindings != 5 {
		t.Fatalf("%+v", s)
	}
}

func TestFreePlacesAreTakenLongestUnusedFirst(t *testing.T) {
	o := defaults()
	o.Order = Circular
	services := []Service{service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"), service("c.", "c.", "tcp/80"), service("d.", "d.", "tcp/80")}
	p := newPool(t, o, services...)
	var got []netip.Addr
	for n, s := range services {
		got = append(got, visit(t, p, second*model.Instant(10-n), string(s.Name)).Address)
	}
	if !slices.Equal(got, testAddresses) {
		t.Fatalf("circular order is %v", got)
	}
	p.SetServices(20*second, nil)
	p.SetServices(200*second, []Service{service("e.", "e.", "tcp/80"), service("f.", "f.", "tcp/80"), service("g.", "g.", "tcp/80")})
	for n := range 3 {
		if b, _ := mustBind(t, p, 200*second, string(rune('e'+n))+"."); b.Address != testAddresses[3-n] {
			t.Fatalf("%d goes to %s", n, b.Address)
		}
	}
}

func TestCircularOrderGoesRound(t *testing.T) {
	o := defaults()
	o.Order = Circular
	p := newPool(t, o, service("a.", "a.", "tcp/80"))
	for n := range 6 {
		b, _ := mustBind(t, p, 1, "a.")
		if want := testAddresses[n%4]; b.Address != want {
			t.Fatalf("%d goes to %s, not %s", n, b.Address, want)
		}
		p.Unbind(b.ID)
		if _, err := p.Reconfigure(1, o); err != nil { // it goes on where it was
			t.Fatal(err)
		}
	}
}

func TestRandomOrderIsEven(t *testing.T) {
	seen := map[netip.Addr]int{}
	p := newPool(t, defaults(), service("a.", "a.", "tcp/80"))
	for range 4000 {
		b, _ := mustBind(t, p, 1, "a.")
		seen[b.Address]++
		p.Unbind(b.ID)
	}
	for a, n := range seen {
		if n < 800 || n > 1200 { // 1000 ± 7 standard deviations
			t.Fatalf("%s was lent %d of 4000 times", a, n)
		}
	}
}

func TestOwnersShareWhatDoesNotOverlap(t *testing.T) {
	for _, c := range []struct {
		one, other string
		share      bool
	}{
		{"tcp/80", "tcp/22", true},
		{"tcp/80", "tcp/80", false},
		{"tcp/80", "tcp/443", false}, // the web ports are one owner's
		{"tcp/443", "udp/443", false},
		{"udp/443", "tcp/80", false},
		{"tcp/80", "udp/80", true}, // nothing goes from one to the other by itself
		{"tcp/8443", "tcp/443", true},
		{"icmp", "tcp/80", true},
		{"icmp", "icmp", false},
		{"all", "tcp/22", false},
		{"tcp/22", "all", false},
		{"all", "icmp", false},
	} {
		p := newPool(t, single(), service("a.", "a.", c.one), service("b.", "b.", c.other))
		visit(t, p, 1, "a.")
		if _, _, fresh, _ := p.Bind(2, "b."); fresh != c.share {
			t.Errorf("%s then %s: shared is %v", c.one, c.other, fresh)
		}
	}
}

// Every place that can be shared is found among many, and none that cannot.
func TestOwnersShareManyPlaces(t *testing.T) {
	o := defaults()
	o.Addresses = manyAddresses(300)
	p := newPool(t, o, manyServices(900, ports("tcp/80"), ports("tcp/22"), ports("udp/443"))...)
	if placed := p.Place(1); len(placed) != 600 {
		t.Fatalf("placed %d", len(placed))
	}
	if s := p.Statistics(); s.Bound != 300 || s.Free != 0 {
		t.Fatalf("%+v", s)
	}
}

// A service gives way after its rest, never before, and the longest unused does first.
func TestLongestUnusedGivesWay(t *testing.T) {
	o := defaults()
	o.Addresses = testAddresses[:2]
	p := newPool(t, o, service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"), service("c.", "c.", "tcp/80"))
	a := visit(t, p, second, "a.")
	visit(t, p, 2*second, "b.")
	mustExhaust(t, p, a.Used.Add(o.Rest)-1, "c.")
	b, moved := mustBind(t, p, 200*second, "c.")
	if b.Address != a.Address || len(moved) != 1 || moved[0].ID != a.ID || moved[0].State != Gone {
		t.Fatalf("bound %s, moved %s", b.Address, addressesOf(moved))
	}
	if _, ok := p.Binding(a.ID); ok {
		t.Fatal("who gave way is still there")
	}
}

// What the data plane knows counts though nobody told the pool.
func TestUseIsAskedForBeforeAPlaceMoves(t *testing.T) {
	o, d := single(), newData()
	d.attach(&o)
	p := newPool(t, o, service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"))
	a := visit(t, p, second, "a.")
	d.used[a.ID] = 100 * second
	mustExhaust(t, p, 230*second-1, "b.")
	mustBind(t, p, 230*second, "b.")
}

func TestSessionsMoveLastAndNeverWithinAZone(t *testing.T) {
	o, d := defaults(), newData()
	o.Addresses = testAddresses[:3]
	d.attach(&o)
	far := service("far.", "far.", "tcp/80")
	far.Zones = zones("bar.example.")
	p := newPool(t, o, service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"), service("c.", "c.", "tcp/80"),
		service("d.", "d.", "tcp/80"), service("e.", "e.", "tcp/80"), far)
	a, b, c := visit(t, p, second, "a."), visit(t, p, 2*second, "b."), visit(t, p, 3*second, "c.")
	d.session(4*second, a.ID, 1)
	d.session(5*second, b.ID, 1)
	got, moved := mustBind(t, p, 200*second, "d.")
	if got.Address != c.Address || moved[0].ID != c.ID {
		t.Fatal("a place with sessions went before one without")
	}
	mustReserve(t, p, 200*second, ask("d.", 1, 1))
	mustExhaust(t, p, 300*second, "e.") // a. and b. have web sessions, and are of its zone
	if got, _ := mustBind(t, p, 300*second, "far."); got.Address != a.Address {
		t.Fatal("not the longest unused gave way to the other zone")
	}
	d.session(310*second, b.ID, -1)
	mustReserve(t, p, 310*second, ask("d.", 2, 1))
	mustReserve(t, p, 310*second, ask("far.", 3, 1))
	mustExhaust(t, p, 440*second-1, "e.")
	if got, _ := mustBind(t, p, 440*second, "e."); got.Address != b.Address {
		t.Fatal("a session that has ended stands in the way")
	}
}

// Nothing tells the first datagram of a client from the next one of its session that stands, which would reach the host
// that had the place before: such a place waits.
func TestDatagramsKeepThePlace(t *testing.T) {
	o, d := single(), newData()
	d.attach(&o)
	p := newPool(t, o, service("a.", "a.", "udp/50"), service("b.", "b.", "udp/50"))
	a := visit(t, p, second, "a.")
	d.session(2*second, a.ID, 1)
	mustExhaust(t, p, 300*second, "b.")
	d.session(310*second, a.ID, -1)
	if got, moved := mustBind(t, p, 500*second, "b."); got.Address != a.Address || len(moved) != 1 {
		t.Fatal("its sessions have ended")
	}
}

// All that clashes on an address has to be without sessions, not only the longest unused of it.
func TestEveryClashingBindingCounts(t *testing.T) {
	o, d := single(), newData()
	d.attach(&o)
	services := []Service{service("a.", "a.", "tcp/22"), service("b.", "b.", "tcp/25"), service("c.", "c.", "tcp/22", "tcp/25"),
		service("d.", "d.", "tcp/22", "tcp/25"), service("e.", "e.", "tcp/22", "tcp/25")}
	p := newPool(t, o, services...)
	a, b := visit(t, p, second, "a."), visit(t, p, 2*second, "b.")
	o.Addresses = testAddresses[:2]
	if _, err := p.Reconfigure(2*second, o); err != nil {
		t.Fatal(err)
	}
	d.session(4*second, b.ID, 1)
	c := visit(t, p, 5*second, "c.")
	if got, moved := mustBind(t, p, 200*second, "d."); got.Address != c.Address || len(moved) != 1 {
		t.Fatal("a place with sessions went before one without")
	}
	mustReserve(t, p, 200*second, ask("d.", 1, 1))
	if got, moved := mustBind(t, p, 201*second, "e."); got.Address != a.Address || len(moved) != 2 {
		t.Fatalf("%s gave way", addressesOf(moved))
	}
}

// A slot is not used again while sessions of its last binding stand.
func TestSlotsWaitForTheirSessions(t *testing.T) {
	o, d := single(), newData()
	o.Bindings = 2
	d.attach(&o)
	p := newPool(t, o, service("a.", "a.", "tcp/25"), service("b.", "b.", "tcp/25"), service("c.", "c.", "tcp/25"))
	a := visit(t, p, second, "a.")
	d.session(second, a.ID, 1)
	b, _ := mustBind(t, p, 200*second, "b.")
	if b.Slot() == a.Slot() {
		t.Fatal("the slot has two bindings")
	}
	if _, _, _, err := p.Bind(201*second, "c."); err == nil {
		t.Fatal("there was no slot left")
	}
	if s := p.Statistics(); s.Full != 1 || s.Bindings != 1 {
		t.Fatalf("who was to give way has gone: %+v", s)
	}
	d.session(202*second, a.ID, -1)
	if c, _ := mustBind(t, p, 203*second, "c."); c.Slot() != a.Slot() {
		t.Fatalf("%+v", c)
	}
}

func TestOptionsRefuses(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"too many":       func(o *Options) { o.Addresses = make([]netip.Addr, model.MaxPoolAddresses+1) },
		"twice":          func(o *Options) { o.Addresses = []netip.Addr{client(1), client(1)} },
		"none":           func(o *Options) { o.Addresses = []netip.Addr{{}} },
		"short time-out": func(o *Options) { o.ReservationTimeout = MinimumLeft - time.Nanosecond },
		"no rest":        func(o *Options) { o.Rest = 0 },
		"quota":          func(o *Options) { o.HalfOpen = -1 },
		"unknown word":   func(o *Options) { o.Order = 9 },
	} {
		o := defaults()
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if _, err := newPool(t, defaults()).Reconfigure(0, o); err == nil {
			t.Errorf("%s is accepted by Reconfigure", name)
		}
	}
	for _, change := range []func(*Options){
		func(o *Options) { o.Capacity = 0 }, func(o *Options) { o.Capacity = MaxCapacity + 1 },
		func(o *Options) { o.Bindings = 0 }, func(o *Options) { o.Bindings = MaxBindings + 1 },
	} {
		o := defaults()
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%d, %d are accepted", o.Capacity, o.Bindings)
		}
	}
}
