package pool

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// machine drives a Pool, a data plane and the oracle through one random life.
type machine struct {
	pool     *Pool
	options  Options
	data     *data
	oracle   oracle
	now      model.Instant
	services []Service
	first    map[uint64]Binding // as every ID was first seen
	lent     map[uint64]Reservation
	given    map[uint64]bool // every reservation's ID ever
	queries  map[uint64]map[uint64]bool
}

// TestProperties holds I1, I2, I3, I4, I5 and I9 and the order of places over random interleavings of everything that can
// happen to a pool.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := defaults()
		o.Addresses = testAddresses[:rapid.IntRange(1, 4).Draw(t, "addresses")]
		o.Order = rapid.SampledFrom([]Order{Random, Circular}).Draw(t, "order")
		o.Rest = rapid.SampledFrom(rests).Draw(t, "rest")
		o.Bindings = rapid.SampledFrom([]int{8, 64}).Draw(t, "bindings")
		o.HalfOpen = rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(t, "half-open")
		o.HalfOpenPerHost = rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(t, "half-open per host")
		o.Blocked = func(a netip.Addr, p model.Protocol, port uint16) bool {
			return a == testAddresses[0] && (p == model.AnyProtocol || p == model.TCP && port == 25)
		}
		m := &machine{
			data: newData(), now: second, options: o,
			first: map[uint64]Binding{}, lent: map[uint64]Reservation{}, given: map[uint64]bool{},
			queries: map[uint64]map[uint64]bool{},
		}
		m.data.attach(&m.options)
		m.oracle = oracle{
			addresses: o.Addresses, rest: o.Rest, blocked: o.Blocked, bindings: map[uint64]*Binding{}, evicted: map[uint64]*Binding{},
			reserved: map[uint64]uint64{}, sessions: m.data.sessions,
			idle: map[netip.Addr]model.Instant{}, resting: map[netip.Addr]model.Instant{}, last: map[lent]lastUse{},
		}
		p, err := New(m.options)
		if err != nil {
			t.Fatal(err)
		}
		repeatable(p, rapid.Uint64().Draw(t, "seed"))
		m.pool = p
		m.reload(t)
		t.Repeat(map[string]func(*rapid.T){
			"visit": m.visit, "visit too": m.visit, "visit more": m.visit,
			"place": m.place, "session": m.session, "sessions": m.session, "claim": m.claim, "due": m.due,
			"take back": m.takeBack, "time": m.time, "much time": m.time,
			"restart": m.restart, "reload": m.reload, "reconfigure": m.reconfigure, "": m.check,
		})
	})
}

var rests = []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}

func (m *machine) visit(t *rapid.T) {
	s := rapid.SampledFrom(universe).Draw(t, "service")
	known := slices.ContainsFunc(m.services, func(k Service) bool { return k.Name == s.Name })
	_, bound := m.standing(s.Name)
	if known && !bound {
		m.oracle.settle(m.now)
	}
	var step int
	var choices []netip.Addr
	if known {
		s = m.services[slices.IndexFunc(m.services, func(k Service) bool { return k.Name == s.Name })]
		step, choices = m.oracle.choices(m.now, &s)
	}
	b, moved, fresh, err := m.pool.Bind(m.now, s.Name)
	for _, gone := range moved {
		if gone.State != Gone || m.oracle.bindings[gone.ID] == nil {
			t.Fatalf("moved %+v", gone)
		}
	}
	switch {
	case err == nil && fresh == bound:
		t.Fatalf("fresh %v, bound before %v", fresh, bound)
	case err == nil && fresh:
		if !slices.Contains(choices, b.Address) {
			t.Fatalf("step %d: bound on %s, not one of %v", step, b.Address, choices)
		}
		for _, old := range m.oracle.clashing(b.Address, &s) {
			if listed := slices.ContainsFunc(moved, func(g Binding) bool { return g.ID == old.ID }); listed != (old.State == Bound) {
				t.Fatalf("moved %v, but %+v had to go", addressesOf(moved), *old)
			}
			m.oracle.gone(old.ID)
		}
		m.give(t, b)
		if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
			m.unbind(t, b.ID)
			return
		}
	case errors.Is(err, ErrExhausted) && known && !bound && step == 0:
		return
	case errors.Is(err, ErrRequest) && !known && !bound:
		return
	case errors.Is(err, ErrFull) && m.full():
		return
	case err != nil:
		t.Fatalf("%v, though step %d has %v", err, step, choices)
	}
	m.reserve(t, b)
}

// full reports that no slot is vacant.
func (m *machine) full() bool {
	taken := map[uint32]bool{}
	for id := range m.oracle.bindings {
		taken[uint32(id)] = true
	}
	for id, n := range m.data.sessions {
		if n > 0 {
			taken[uint32(id)] = true
		}
	}
	return len(taken) >= m.options.Bindings
}

func (m *machine) standing(name model.Name) (*Binding, bool) {
	for _, b := range m.oracle.bindings {
		if b.Service.Name == name && b.State == Bound {
			return b, true
		}
	}
	return nil, false
}

// give takes note of a fresh binding.
func (m *machine) give(t *rapid.T, b Binding) {
	if _, again := m.first[b.ID]; again {
		t.Fatalf("ID %#x is used twice", b.ID)
	}
	if !m.options.Vacant(b.Slot()) || int(b.Slot()) >= m.options.Bindings {
		t.Fatalf("slot %d is not vacant", b.Slot())
	}
	for _, p := range b.Service.Ports {
		if m.options.Blocked(b.Address, p.Protocol, p.Port) {
			t.Fatalf("I3: %s of %s is blocked", p, b.Address)
		}
	}
	if err := m.oracle.give(m.now, b.Address, &b.Service); err != nil {
		t.Fatal(err)
	}
	if b.State != Bound || b.Used != 0 {
		t.Fatalf("fresh %+v", b)
	}
	m.first[b.ID] = b
	m.oracle.bindings[b.ID] = &b
}

func (m *machine) place(t *rapid.T) {
	m.oracle.settle(m.now)
	for _, b := range m.pool.Place(m.now) {
		if step, choices := m.oracle.choices(m.now, &b.Service); step > 4 || !slices.Contains(choices, b.Address) {
			t.Fatalf("step %d: placed on %s, not one of %v", step, b.Address, choices)
		}
		m.give(t, b)
	}
	for _, s := range m.services {
		if _, bound := m.standing(s.Name); bound || m.full() {
			continue
		}
		if step, choices := m.oracle.choices(m.now, &s); step >= 1 && step <= 4 {
			t.Fatalf("%s was not placed, though step %d has %v", s.Name, step, choices)
		}
	}
}

func (m *machine) unbind(t *rapid.T, id uint64) {
	if got, ok := m.pool.Unbind(id); !ok || (got.State == Gone) != (m.oracle.bindings[id].Used == 0) {
		t.Fatalf("unbind: %+v %v", got, ok)
	}
	m.oracle.withdraw(id)
}

func (m *machine) reserve(t *rapid.T, b Binding) {
	q := ask(string(b.Service.Name), rapid.IntRange(1, 2).Draw(t, "requester"), rapid.Uint64Range(1, 30).Draw(t, "query"))
	if rapid.Bool().Draw(t, "subnet") {
		q.Source = netip.MustParsePrefix("192.0.2.0/24")
	}
	var standing []uint64
	perHost := 0
	for id, r := range m.lent {
		if r.Binding == b.ID && r.Requester == q.Requester && r.Source == q.Source && r.Expires.Sub(m.now) >= MinimumLeft {
			standing = append(standing, id)
		}
		if m.first[r.Binding].Service.Host == b.Service.Host {
			perHost++
		}
	}
	res, fresh, err := m.pool.Reservations.Reserve(m.now, q)
	switch {
	case errors.Is(err, ErrHalfOpen) && m.options.HalfOpen > 0 && len(m.lent) >= m.options.HalfOpen && len(standing) == 0,
		errors.Is(err, ErrHalfOpenHost) && m.options.HalfOpenPerHost > 0 && perHost >= m.options.HalfOpenPerHost && len(standing) == 0:
		return
	case err != nil:
		t.Fatal(err)
	case fresh && (len(standing) > 0 || m.given[res.ID] || res.Binding != b.ID || res.Claims != 1 || res.Expires.Sub(m.now) != m.options.ReservationTimeout):
		t.Fatalf("I5: fresh %+v, though %v stand", res, standing)
	case fresh:
		m.queries[res.ID] = map[uint64]bool{}
		m.given[res.ID] = true
	case !slices.Contains(standing, res.ID):
		t.Fatalf("answered again from %#x, which is none of %v", res.ID, standing)
	default:
		want := m.lent[res.ID]
		if !m.queries[res.ID][q.Query] && want.Granted < MaxClaims {
			want.Granted++
			want.Claims++
		}
		if want != res {
			t.Fatalf("got %+v, want %+v", res, want)
		}
	}
	m.queries[res.ID][q.Query] = true
	m.lent[res.ID] = res
	m.oracle.reserved[res.ID] = res.Binding
	m.oracle.touch(m.now, b.ID)
}

// session opens or ends one of a binding in the data plane; the pool is not told. Sessions of a binding that has gone may
// only end, and that is no use any more.
func (m *machine) session(t *rapid.T) {
	by := rapid.SampledFrom([]int{1, -1}).Draw(t, "by")
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(m.first)), func(id uint64) bool {
		b := m.oracle.bindings[id]
		return by < 0 && m.data.sessions[id] == 0 || by > 0 && (b == nil || b.State != Bound || b.Used == 0)
	})
	if len(ids) == 0 {
		t.Skip("impossible")
	}
	id := rapid.SampledFrom(ids).Draw(t, "binding")
	m.data.session(m.now, id, by)
	m.oracle.touch(m.now, id)
}

func (m *machine) time(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{1, 400 * time.Millisecond, time.Second, 4 * time.Second, 19 * time.Second}).Draw(t, "step")
	m.now = m.now.Add(step)
	if rapid.Bool().Draw(t, "advance") {
		m.pool.Advance(m.now)
		m.oracle.settle(m.now)
	}
}

// Slot returns the table entry that the binding occupies.
func (b *Binding) Slot() uint32 { return uint32(b.ID) }
