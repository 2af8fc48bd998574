package pact

import (
	"container/heap"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// again is how soon Due says once more what nobody has acted on, and how short a lease's half is at least.
const again = time.Second

// timers is a heap of live pacts, by when to look at them. Uses make that later only, so it is looked at when it comes.
type timers []*entry

// grant begins a lease: it is to be prolonged at its half.
func (e *entry) grant(now, until model.Instant) {
	e.granted, e.Until = now, until
	e.renews = now.Add(max(until.Sub(now)/2, again))
}

// dueAt is the first thing that is due for a pact.
func (e *entry) dueAt(idle time.Duration) model.Instant {
	return min(e.renews, e.Used.Add(idle), e.Until)
}

// Due returns which leases are to be prolonged, who has been idle, and whose lease is over, each once; who is still there a
// second later is said again, and to prolong a lease at half of what is left of it.
func (s *Store) Due(now model.Instant) (renew, idle, over []Pact) {
	s.places.advance(now)
	for len(s.timers) > 0 && !now.Before(s.timers[0].at) {
		e := s.timers[0]
		at := e.dueAt(s.options.Idle)
		if !now.Before(at) {
			switch at = now.Add(again); {
			case !now.Before(e.Until):
				over = append(over, e.Pact)
			case !now.Before(e.Used.Add(s.options.Idle)):
				idle = append(idle, e.Pact)
			default:
				renew = append(renew, e.Pact)
				e.renews = now.Add(max(e.Until.Sub(now)/2, again))
				at = e.dueAt(s.options.Idle)
			}
		}
		e.at = at
		heap.Fix(&s.timers, e.place)
	}
	return renew, idle, over
}

// NextEvent is when Due has something to say, at the earliest; false for never.
func (s *Store) NextEvent() (model.Instant, bool) {
	if len(s.timers) == 0 {
		return 0, false
	}
	return s.timers[0].at, true
}

// Renew prolongs a lease.
func (s *Store) Renew(now model.Instant, number uint16, until model.Instant) {
	if e := s.numbered(number); e != nil && e.State == Live {
		e.grant(now, until)
		s.timers.hasten(e, e.dueAt(s.options.Idle))
	}
}

// Answered says that a question was answered by a pact, which counts as a use.
func (s *Store) Answered(now model.Instant, number uint16) { s.Used(number, now) }

// Used says when the last packet of a pact passed, as the kernel knows.
func (s *Store) Used(number uint16, at model.Instant) {
	if e := s.numbered(number); e != nil {
		e.Used = max(e.Used, at)
	}
}

func (t *timers) enter(e *entry, at model.Instant) {
	e.at = at
	heap.Push(t, e)
}

// hasten sees to it that a pact is looked at no later than at.
func (t *timers) hasten(e *entry, at model.Instant) {
	if at.Before(e.at) {
		e.at = at
		heap.Fix(t, e.place)
	}
}

func (t *timers) leave(e *entry) {
	if e.place >= 0 {
		heap.Remove(t, e.place)
	}
}

func (t timers) Len() int { return len(t) }

// Less orders by when, of two the smaller number first.
func (t timers) Less(i, j int) bool {
	return t[i].at.Before(t[j].at) || t[i].at == t[j].at && t[i].Number < t[j].Number
}

// Swap exchanges two.
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push appends one.
func (t *timers) Push(x any) {
	e := x.(*entry)
	e.place = len(*t)
	*t = append(*t, e)
}

// Pop takes the last off.
func (t *timers) Pop() any {
	last := len(*t) - 1
	e := (*t)[last]
	(*t)[last], e.place = nil, -1
	*t = (*t)[:last]
	return e
}
