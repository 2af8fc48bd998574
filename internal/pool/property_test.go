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

// machine drives a Pool and the oracle through one random life.
type machine struct {
	pool   *Pool
	oracle oracle
	now    model.Instant
	target map[uint64]Reservation // what every ID was first lent for
}

// TestProperties holds I1, I2, I3, I4 and I8 as far as the pool decides them,
// and "never two hosts at once", over random interleavings of everything that
// can happen to a pool.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := defaults()
		o.Addresses = testAddresses[:rapid.IntRange(1, 4).Draw(t, "addresses")]
		o.Order = rapid.SampledFrom([]Order{Random, Circular}).Draw(t, "order")
		o.Quarantine = rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(t, "quarantine")
		o.HalfOpen = rapid.SampledFrom([]int{0, 0, 0, 4}).Draw(t, "half-open")
		o.HalfOpenPerHost = rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(t, "half-open per host")
		o.Blocked = func(a netip.Addr, p model.Protocol, port uint16) bool {
			return a == testAddresses[0] && overlap(p, port, model.TCP, 443)
		}
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		repeatable(p, rapid.Uint64().Draw(t, "seed"))
		m := &machine{
			pool: p, now: 1, target: map[uint64]Reservation{},
			oracle: oracle{
				options: o, lent: map[uint64]*Reservation{},
				queries: map[uint64]map[uint64]bool{}, used: map[uint64]model.Instant{},
			},
		}
		t.Repeat(map[string]func(*rapid.T){
			"offer": m.offer, "offer too": m.offer, "offer more": m.offer,
			"claim": m.claim, "due": m.due, "cancel": m.cancel,
			"time": m.time, "restart": m.restart, "reconfigure": m.reconfigure, "": m.check,
		})
	})
}

func (m *machine) request(t *rapid.T) Request {
	form := rapid.SampledFrom([]Request{
		service(0, model.TCP, 80), service(0, model.TCP, 80), service(0, model.TCP, 443), service(0, model.UDP, 80),
		service(0, model.TCP, 0), service(0, model.AnyProtocol, 80), hostName(0),
	}).Draw(t, "form")
	q := service(rapid.IntRange(1, 3).Draw(t, "host"), form.Protocol, form.Port)
	q.Requester = client(rapid.IntRange(1, 2).Draw(t, "requester"))
	q.Query = rapid.Uint64Range(1, 12).Draw(t, "query")
	if s := rapid.SampledFrom([]string{"", "", "", "192.0.2.0/25", "192.0.2.128/25", "192.0.2.0/24"}).Draw(t, "source"); s != "" {
		q.Source = netip.MustParsePrefix(s)
	}
	if rapid.IntRange(0, 3).Draw(t, "strict") == 0 {
		q.Again = new(time.Duration)
	}
	return q
}

func (m *machine) offer(t *rapid.T) {
	q, o := m.request(t), &m.oracle
	o.settle(m.now)
	standing := o.standing(m.now, q)
	res, fresh, err := m.pool.Offer(m.now, q)
	switch {
	case err == nil && !fresh:
		if !slices.Contains(standing, res.ID) {
			t.Fatalf("answered again from %#x, which is none of %v", res.ID, standing)
		}
		if !o.queries[res.ID][q.Query] && o.lent[res.ID].Granted < MaxClaims {
			o.queries[res.ID][q.Query] = true
			o.lent[res.ID].Granted++
			o.lent[res.ID].Claims++
		}
	case len(standing) > 0:
		// I8: one requester never has two answers for one name at once.
		t.Fatalf("fresh %v, err %v, though %v stand", fresh, err, standing)
	case err == nil:
		m.fresh(t, q, res)
	case errors.Is(err, ErrExhausted):
		// Its own host's quarantines may let it in, but need not.
		stranger := q
		stranger.Host = host(99)
		for _, a := range o.options.Addresses {
			if o.mayTake(a, stranger) == "" {
				t.Fatalf("exhausted, though %s can take it", a)
			}
		}
	case errors.Is(err, ErrHalfOpen) && o.options.HalfOpen > 0 && o.count(Offered, netip.Addr{}) >= o.options.HalfOpen:
	case errors.Is(err, ErrHalfOpenHost) && o.options.HalfOpenPerHost > 0 && o.count(Offered, q.Host) >= o.options.HalfOpenPerHost:
	default:
		t.Fatal(err)
	}
}

func (m *machine) fresh(t *rapid.T, q Request, res Reservation) {
	o := &m.oracle
	if _, again := m.target[res.ID]; again {
		t.Fatalf("ID %#x is used twice", res.ID)
	}
	if res.Host != q.Host || res.Expires.Sub(m.now) != o.options.Offer || res.Claims != 1 {
		t.Fatalf("got %+v for %+v", res, q)
	}
	if why := o.mayTake(res.Address, q); why != "" {
		t.Fatalf("%s for %v: %s", res.Address, q, why)
	}
	if q.Protocol != 0 && q.Port != 0 && !q.Source.IsValid() {
		m.packedMost(t, q, res)
	}
	o.lent[res.ID], o.queries[res.ID] = &res, map[uint64]bool{q.Query: true}
	m.target[res.ID] = res
}

// packedMost checks that a service name went where most is, leaving aside
// places that only their own quarantine opens.
func (m *machine) packedMost(t *rapid.T, q Request, res Reservation) {
	stranger := q
	stranger.Host = host(99)
	got := m.oracle.onAddress(res.Address)
	for _, a := range m.oracle.options.Addresses {
		if n := m.oracle.onAddress(a); n > got && m.oracle.mayTake(a, stranger) == "" {
			t.Fatalf("lent %s with %d, though %s with %d can take it", res.Address, got, a, n)
		}
	}
}

func (m *machine) any(t *rapid.T, want ...State) (uint64, bool) {
	var ids []uint64
	for id, r := range m.oracle.lent {
		if slices.Contains(want, r.State) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0, false
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "id"), true
}

func (m *machine) claim(t *rapid.T) {
	id, ok := m.any(t, Offered, Claimed, Expired)
	if !ok {
		t.Skip("nothing lent")
	}
	r, o := m.oracle.lent[id], &m.oracle
	got, known := m.pool.Claimed(m.now, id, r.Claims-1)
	if known != (r.State == Offered) {
		t.Fatalf("claim of %v accepted: %v", r.State, known)
	}
	if !known {
		return
	}
	o.used[id] = m.now
	if r.Claims--; r.Claims == 0 {
		o.end(id, m.now)
	}
	m.same(t, id, got)
}

func (m *machine) due(t *rapid.T) {
	ids := m.pool.Due(m.now)
	for id, r := range m.oracle.lent {
		over := r.State == Offered && r.Expires <= m.now || r.State == Claimed && r.FreeAt <= m.now
		if over != slices.Contains(ids, id) {
			t.Fatalf("due says %v of %+v", !over, r)
		}
	}
	for _, id := range ids {
		got, known := m.pool.Expired(m.now, id)
		if !known {
			t.Fatalf("due %#x is unknown", id)
		}
		m.oracle.expire(id, m.now)
		m.same(t, id, got)
	}
}

func (m *machine) cancel(t *rapid.T) {
	id, ok := m.any(t, Offered, Claimed)
	if !ok {
		t.Skip("nothing lent")
	}
	r := m.oracle.lent[id]
	_, used := m.oracle.used[id]
	if rapid.Bool().Draw(t, "unanswered") {
		got, known := m.pool.Cancel(m.now, id)
		if known != (r.State == Offered) {
			t.Fatalf("cancel of %v accepted: %v", r.State, known)
		}
		if known && r.Granted == 1 && !used {
			delete(m.oracle.lent, id)
			return
		} else if !known {
			return
		}
		m.oracle.withdraw(id, m.now)
		m.same(t, id, got)
		return
	}
	got, _ := m.pool.Withdraw(m.now, id)
	m.oracle.withdraw(id, m.now)
	m.same(t, id, got)
}

func (m *machine) time(t *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{1, 400 * time.Millisecond, time.Second, 1900 * time.Millisecond}).Draw(t, "step")
	m.now = m.now.Add(step)
	if rapid.Bool().Draw(t, "advance") {
		m.pool.Advance(m.now)
		m.oracle.settle(m.now)
	}
}

// restart adopts everything into a new pool, in any order, as after a crash.
func (m *machine) restart(t *rapid.T) {
	ids := slices.Sorted(maps.Keys(m.oracle.lent))
	if len(ids) > 0 {
		ids = rapid.Permutation(ids).Draw(t, "adoption")
	}
	p, err := New(m.oracle.options)
	if err != nil {
		t.Fatal(err)
	}
	p.dice.fill, p.generation = m.pool.dice.fill, m.pool.generation
	m.oracle.settle(m.now)
	for _, id := range ids {
		r, ok := m.pool.Get(id)
		if !ok {
			t.Fatalf("%#x is lost", id)
		}
		err := p.Adopt(m.now, r)
		if gone := m.oracle.lent[id] == nil; (err != nil) && !gone && slices.Contains(m.oracle.options.Addresses, r.Address) {
			t.Fatal(err)
		} else if err != nil || gone {
			delete(m.oracle.lent, id)
			continue
		}
		m.oracle.queries[id] = map[uint64]bool{}
		for q := range p.entries[r.Entry()].queries[:m.oracle.lent[id].Granted] {
			m.oracle.queries[id][p.entries[r.Entry()].queries[q]] = true
		}
		if _, used := m.oracle.used[id]; used || r.Claims < r.Granted {
			m.oracle.used[id] = m.now
		}
	}
	p.Advance(m.now)
	m.pool = p
}

func (m *machine) reconfigure(t *rapid.T) {
	o := m.oracle.options
	n := rapid.IntRange(1, 4).Draw(t, "listed")
	o.Addresses = rapid.Permutation(testAddresses).Draw(t, "addresses")[:n]
	withdrawn, err := m.pool.Reconfigure(m.now, o)
	if err != nil {
		t.Fatal(err)
	}
	m.oracle.settle(m.now)
	m.oracle.options = o
	for id, r := range m.oracle.lent {
		if slices.Contains(o.Addresses, r.Address) || r.State != Offered && r.State != Claimed {
			continue
		}
		i := slices.IndexFunc(withdrawn, func(w Reservation) bool { return w.ID == id })
		if i < 0 {
			t.Fatalf("%#x on %s was not withdrawn", id, r.Address)
		}
		m.oracle.withdraw(id, m.now)
	}
}
