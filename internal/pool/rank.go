package pool

import (
	"math"

	"github.com/realmgate/realmgate/internal/model"
)

// class parts the bindings by what can clash with them, so that a web service need not look at the idle bindings of other
// ports, nor the other way round.
type class uint8

const (
	pureWeb class = iota // web ports alone
	mixed
	plain
	everything
	classes
)

func classOf(s *Service) class {
	web := 0
	for _, p := range s.Ports {
		if keyOf(p).web() {
			web++
		}
	}
	switch {
	case s.All():
		return everything
	case web == len(s.Ports):
		return pureWeb
	case web > 0:
		return mixed
	}
	return plain
}

// clashing reports that a service of one class can clash with a binding of the other.
func (c class) clashing(with class) bool {
	return c != plain && with != plain || c != pureWeb && with != pureWeb
}

// ranking orders bindings by when they were used last, as far as that is known: the key is never later than the truth.
type ranking [classes]timers

// rank puts a record among those that may have to move, after all that was heard of it.
func (bs *bindings) rank(slot int32) {
	r := &bs.table[slot]
	r.class = classOf(&r.Service)
	bs.calm[r.class].set(slot, r.Used)
}

func (bs *bindings) unrank(slot int32) {
	c := bs.table[slot].class
	bs.calm[c].remove(slot)
	bs.busy[c].remove(slot)
}

// refresh asks the data plane about a binding, once a round.
func (bs *bindings) refresh(slot int32) {
	r := &bs.table[slot]
	if r.heard == bs.round || bs.options.Use == nil {
		return
	}
	r.heard = bs.round
	used, sessions := bs.options.Use(r.ID)
	r.Used, r.sessions = max(r.Used, used), sessions
}

// touch takes note of a use. The ranking need not know each of them, only that a binding which people ask for is none of
// those that may move: keys so old that they could be over wait for a search.
func (bs *bindings) touch(slot int32, at model.Instant) {
	r := &bs.table[slot]
	r.Used = max(r.Used, at)
	if key, _ := bs.calm[r.class].get(slot); r.Used.Sub(key) > bs.options.Rest/4 {
		bs.calm[r.class].set(slot, r.Used)
	}
}

// rerank corrects a record's keys by what was just heard. One with sessions counts as used now among the calm: before
// another Rest has passed it cannot have rested without any, so that nobody need look at it.
func (bs *bindings) rerank(now model.Instant, slot int32) {
	r := &bs.table[slot]
	if r.sessions == 0 {
		bs.calm[r.class].set(slot, r.Used)
		bs.busy[r.class].remove(slot)
		return
	}
	bs.calm[r.class].set(slot, now)
	bs.busy[r.class].set(slot, r.Used)
}

// first returns the least key among the classes that can clash with c.
func (k *ranking) first(c class) (t timer, from class, ok bool) {
	t.at = math.MaxInt64
	for with := range classes {
		if x, found := k[with].first(); found && c.clashing(with) && (!ok || x.at < t.at) {
			t, from, ok = x, with, true
		}
	}
	return t, from, ok
}

// taken is a record that a search has looked at and puts back.
type taken struct {
	timer
	class class
}

// longest finds the place unused for longest whose clashing bindings may all give way to the service, or -1. It looks at
// the bindings of a ranking in the order of their use; a place is as long unused as its clashing binding used last.
func (f *finder) longest(now model.Instant, s *Service, k *ranking) int32 {
	best, used := int32(-1), model.Instant(math.MaxInt64)
	c := classOf(s)
	f.round++ // what was heard before may have changed since
	f.taken = f.taken[:0]
	for looked := 0; looked < lookLimit; {
		t, from, ok := k.first(c)
		if !ok || t.at >= used || !f.over(now, t.at) {
			break
		}
		f.refresh(t.entry)
		f.rerank(now, t.entry)
		if after, still := k[from].get(t.entry); !still || after != t.at {
			continue // at most once a Rest: it was used since, or is of the other ranking
		}
		looked++
		k[from].remove(t.entry)
		f.taken = append(f.taken, taken{t, from})
		i := f.table[t.entry].place
		if f.places.table[i].looked == f.round {
			continue
		}
		f.places.table[i].looked = f.round
		if u, ok := f.givesWay(now, i, s, k == &f.busy); ok && u < used {
			best, used = i, u
		}
	}
	for _, t := range f.taken {
		k[t.class].set(t.entry, t.at)
	}
	return best
}

// givesWay reports whether everything that clashes with the service on the place may go, and when the last of it was used.
// sessions: it may go with sessions standing.
func (f *finder) givesWay(now model.Instant, i int32, s *Service, sessions bool) (used model.Instant, ok bool) {
	if !f.open(i, s) {
		return 0, false
	}
	for _, slot := range f.clashes(i, s, -1, false) {
		f.refresh(slot)
		r := &f.table[slot]
		switch {
		case r.active > 0 || !f.over(now, r.Used):
			return 0, false
		case r.sessions > 0 && (!sessions || r.web && sharesZone(r.Service.Zones, s.Zones) || r.Service.datagrams()):
			return 0, false
		}
		used = max(used, r.Used)
	}
	return used, true
}
