package pool

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// settle drops the quarantines that are over.
func (o *oracle) settle(now model.Instant) {
	for id, r := range o.lent {
		if (r.State == Expired || r.State == Cancelled) && r.FreeAt <= now {
			delete(o.lent, id)
		}
	}
}

// end is what becomes of a used offer that ends: a hold, or nothing.
func (o *oracle) end(id uint64, now model.Instant) {
	r := o.lent[id]
	r.State, r.FreeAt = Claimed, o.used[id].Add(r.Again)
	if r.FreeAt <= now {
		delete(o.lent, id)
	}
}

func (o *oracle) expire(id uint64, now model.Instant) {
	r := o.lent[id]
	_, used := o.used[id]
	switch {
	case r.State == Claimed:
		delete(o.lent, id)
	case used:
		o.end(id, now)
	default:
		r.State, r.FreeAt = Expired, r.Expires.Add(o.options.Quarantine)
		o.settle(now)
	}
}

func (o *oracle) withdraw(id uint64, now model.Instant) {
	r := o.lent[id]
	if r.State == Offered {
		r.FreeAt = r.Expires.Add(o.options.Quarantine)
	}
	r.State = Cancelled
	o.settle(now)
}

func (o *oracle) count(s State, host netip.Addr) (n int) {
	for _, r := range o.lent {
		if r.State == s && (!host.IsValid() || r.Host == host) {
			n++
		}
	}
	return n
}

// same compares a returned reservation with the oracle's.
func (m *machine) same(t *rapid.T, id uint64, got Reservation) {
	want, ok := m.oracle.lent[id]
	switch {
	case !ok:
		if _, still := m.pool.Get(id); still {
			t.Fatalf("%#x should have left the pool: %+v", id, got)
		}
	case got != *want:
		t.Fatalf("got  %+v\nwant %+v", got, *want)
	}
}

// check runs after every step.
func (m *machine) check(t *rapid.T) {
	if err := m.oracle.check(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range m.pool.All() {
		want, ok := m.oracle.lent[r.ID]
		if !ok {
			// Quarantines end in the pool when somebody looks.
			if !r.quarantined() || r.FreeAt > m.now {
				t.Fatalf("pool has %+v, which ended", r)
			}
			continue
		}
		n++
		if r != *want {
			t.Fatalf("pool   %+v\noracle %+v", r, *want)
		}
		// I4: an answer that somebody has never changes its host or place.
		first := m.target[r.ID]
		if r.Host != first.Host || r.HostPort != first.HostPort || r.Address != first.Address ||
			r.Protocol != first.Protocol || r.Port != first.Port {
			t.Fatalf("%#x was lent for %+v and is now %+v", r.ID, first, r)
		}
	}
	if n != len(m.oracle.lent) {
		t.Fatalf("pool has %d reservations, should have %d", n, len(m.oracle.lent))
	}
	m.tally(t)
}

// tally checks the counters that admission and the listings rely on.
func (m *machine) tally(t *rapid.T) {
	m.pool.Advance(m.now)
	m.oracle.settle(m.now)
	o := &m.oracle
	want := Statistics{Addresses: len(o.options.Addresses), Offered: o.count(Offered, netip.Addr{}), Held: o.count(Claimed, netip.Addr{})}
	want.Quarantined = len(o.lent) - want.Offered - want.Held
	for _, a := range o.options.Addresses {
		live, whole := 0, false
		for _, r := range o.lent {
			if r.Address == a && (r.State == Offered || r.State == Claimed) {
				live++
				whole = whole || r.Protocol == 0 && r.Port == 0
			}
		}
		switch {
		case whole:
			want.Exclusive++
		case live > 0:
			want.Shared++
		case o.onAddress(a) > 0:
			want.Resting++
		default:
			want.Free++
		}
	}
	got := m.pool.Statistics()
	got.Offers, got.Repeats, got.Claimed, got.Expired, got.Cancelled = 0, 0, 0, 0, 0
	got.Exhausted, got.Refused, got.Full = 0, 0, 0
	if got != want {
		t.Fatalf("statistics %+v\nshould be  %+v", got, want)
	}
	next, ok := m.pool.NextEvent()
	var times []model.Instant
	for _, r := range o.lent {
		if r.State == Offered {
			times = append(times, r.Expires)
		} else {
			times = append(times, r.FreeAt)
		}
	}
	if ok != (len(times) > 0) || ok && next != slices.Min(times) {
		t.Fatalf("next event %d %v of %v", next, ok, times)
	}
}
