package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

// leastPause keeps the timers from running for every single reservation.
const leastPause = 2 * time.Millisecond

func (g *Gateway) kickTimers() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// runTimers does what the pool has due, when it is due.
func (g *Gateway) runTimers(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		g.mutex.Lock()
		now := datapath.Now()
		if g.waiting > 0 {
			g.pool.Press(now)
		}
		g.advance(now)
		next, waits := g.pool.NextEvent()
		g.mutex.Unlock()
		pause := time.Hour
		if waits {
			pause = max(next.Sub(datapath.Now()), leastPause)
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-g.kick:
			// A burst of offers kicks once.
			select {
			case <-ctx.Done():
				return
			case <-time.After(leastPause):
			}
		case <-timer.C:
		}
	}
}

// advance ends what is over, and wakes whoever waits for an address.
func (g *Gateway) advance(now model.Instant) {
	due := g.pool.Due(now)
	for _, id := range due {
		g.settle(now, id)
	}
	before := g.pool.Statistics().Quarantined
	g.pool.Advance(now)
	if len(due) > 0 || g.pool.Statistics().Quarantined < before {
		g.wake()
	}
}

// wake lets the questions that wait for an address try again.
func (g *Gateway) wake() {
	if g.waiting > 0 {
		close(g.freed)
		g.freed = make(chan struct{})
	}
}

// settle ends an offer or a hold whose time is over. What became of an offer
// that no event told of, the data plane says itself.
func (g *Gateway) settle(now model.Instant, id uint64) {
	res, ok := g.pool.Get(id)
	if !ok {
		return
	}
	if res.State == pool.Offered && res.Claims < res.Granted {
		// Claimed in part: its claimers keep the rest of their hold.
		if after, ok := g.pool.Expired(now, id); ok && after.State == pool.Closed {
			_, _ = g.data.Withdraw(id)
		}
		return
	}
	found, err := g.data.Withdraw(id)
	if err != nil && !errors.Is(err, datapath.ErrSpent) {
		g.log.Error("a reservation could not be withdrawn", "name", res.Name, "error", err)
	}
	if res.State == pool.Offered && found.Used > 0 {
		g.outcome(found.ClaimedAt, &res, policy.Claimed)
		g.pool.Claimed(found.ClaimedAt, id, 0)
		return
	}
	if after, ok := g.pool.Expired(now, id); ok && res.State == pool.Offered && after.State != pool.Closed {
		g.outcome(res.Expires, &res, policy.Abandoned)
	}
}

func (g *Gateway) outcome(at model.Instant, r *pool.Reservation, result policy.Result) {
	if !r.Requester.IsValid() {
		return // adopted: who asked is forgotten
	}
	g.admission.Outcome(at, asker(r.Requester, pool.Request{Host: r.Host, Name: r.Name, Protocol: r.Protocol,
		Verified: r.Verified}), result)
}

// runClaims hears from the data plane which offers were claimed.
func (g *Gateway) runClaims(events *datapath.Events[datapath.ClaimEvent]) {
	follow(events.Next, func(err error) {
		g.log.Error("an event of the data plane was lost", "error", err)
	}, func(event datapath.ClaimEvent) {
		g.mutex.Lock()
		defer g.mutex.Unlock()
		g.hear(event)
	})
}

func (g *Gateway) hear(event datapath.ClaimEvent) {
	if event.Closed {
		g.pool.Idle(event.ID)
		if g.waiting > 0 {
			g.kickTimers()
		}
		return
	}
	before, ok := g.pool.Get(event.ID)
	if !ok {
		return
	}
	after, ok := g.pool.Claimed(event.At, event.ID, event.Left)
	if !ok {
		return
	}
	if before.Claims == before.Granted {
		g.outcome(event.At, &before, policy.Claimed)
	}
	if after.State == pool.Closed {
		// Without a hold the address is free at once, and no timer will say so.
		_, _ = g.data.Withdraw(event.ID)
		g.wake()
	}
	if g.waiting > 0 {
		g.kickTimers()
	}
}
