package gateway

import (
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/model"
)

// calm is how long every question must have had an address until a pool counts as
// recovered: a pool that is full is so for one question and not for the next.
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

// emitRefusal tells when the pool begins to have no address.
func (g *Gateway) emitRefusal() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.pressure.refuse(datapath.Now()) {
		g.events.Emit(events.PoolExhausted{Addresses: g.pool.Statistics().Addresses})
	}
}

// emitRecovery tells when that is over.
func (g *Gateway) emitRecovery() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if refused, ends := g.pressure.recovered(datapath.Now()); ends {
		g.events.Emit(events.PoolRecovered{Refused: refused})
	}
}
