package allocation

import (
	"net/netip"
	"time"

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
	mostRepeats   = 4096 // remembered; beyond, questions count once more
)

// recent are the questions without an address of the last second, more or less.
type recent struct {
	since model.Instant
	seen  map[same]bool
}

// repeated reports whether the question was noted within the second, and notes it.
func (r *recent) repeated(now model.Instant, q same) bool {
	if r.seen == nil || now.Sub(r.since) >= repeatsWithin || len(r.seen) >= mostRepeats {
		r.since, r.seen = now, map[same]bool{}
	}
	if r.seen[q] {
		return true
	}
	r.seen[q] = true
	return false
}

// noteExhausted counts a question that got no address, and tells when that begins.
func (a *Allocator) noteExhausted(q nameserver.Question) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := a.options.Now()
	if a.refused.repeated(now, same{q.Client.Addr(), q.Name}) {
		return
	}
	a.counts.Exhausted++
	a.lacked = now
	if a.pressure.refuse(now) {
		a.options.Events.PoolExhausted(a.pool.Statistics().Addresses)
		a.kickTimers()
	}
}

// tellRecovery tells when that is over.
func (a *Allocator) tellRecovery(now model.Instant) {
	if refused, ends := a.pressure.recovered(now); ends {
		a.options.Events.PoolRecovered(refused)
	}
}
