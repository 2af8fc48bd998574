package allocation

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// calm is how long every question must have had an address until a pool counts as recovered: a pool that is full is so
// for one question and not for the next.
const calm = 10 * time.Second

// pressure is whether the pool had addresses for those who asked.
type pressure struct {
	exhausted bool
	last      model.Instant // when it had none
	refused   uint64        // questions since it is exhausted
}

// refuse counts a question without an address, and reports whether it is the first.
func (p *pressure) refuse(now model.Instant) (begins bool) {
	begins = !p.exhausted
	p.exhausted, p.last = true, now
	p.refused++
	return begins
}

// recovered reports whether it is over now, and how many questions were refused.
func (p *pressure) recovered(now model.Instant) (refused uint64, ends bool) {
	if !p.exhausted || now.Sub(p.last) < calm {
		return 0, false
	}
	refused = p.refused
	*p = pressure{}
	return refused, true
}

// same is what makes two questions one: resolvers repeat what fails.
type same struct {
	client netip.Addr
	name   model.Name
}

const (
	repeatsWithin = time.Second
	mostRepeats   = 4096 // remembered; beyond, the oldest count once more
)

// recent are the questions without an address that were counted within the last second.
type recent struct {
	seen  map[same]model.Instant // when they were counted
	order []same                 // oldest first
}

// repeated reports whether the question was counted within the second before, and else notes that it is now. A repeat does
// not begin the second anew: who goes on asking counts once a second, so that the pool does not seem to recover.
func (r *recent) repeated(now model.Instant, q same) bool {
	for len(r.order) > 0 && now.Sub(r.seen[r.order[0]]) >= repeatsWithin {
		r.forget()
	}
	if _, again := r.seen[q]; again {
		return true
	}
	if len(r.order) == mostRepeats {
		r.forget()
	}
	if r.seen == nil {
		r.seen = map[same]model.Instant{}
	}
	r.seen[q], r.order = now, append(r.order, q)
	return false
}

// forget drops the oldest.
func (r *recent) forget() {
	delete(r.seen, r.order[0])
	r.order = r.order[1:]
}

// noteExhausted counts a question that got no address, and tells when that begins.
func (qs *questions) noteExhausted(q nameserver.Question) {
	qs.mutex.Lock()
	defer qs.mutex.Unlock()
	now := qs.options.Now()
	if qs.refused.repeated(now, same{q.Client.Addr(), q.Name}) {
		return
	}
	qs.counts.exhausted.Add(1)
	qs.lacked.Note(now, q.Client.Addr())
	if qs.pressure.refuse(now) {
		qs.options.Events.Emit(event.PoolExhausted{Addresses: qs.pool.Statistics().Addresses})
		qs.kickTimers()
	}
}

// tellRecovery tells when that is over.
func (qs *questions) tellRecovery(now model.Instant) {
	if refused, ends := qs.pressure.recovered(now); ends {
		qs.options.Events.Emit(event.PoolRecovered{Refused: refused})
	}
}
