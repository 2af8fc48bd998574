package allocation

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/policy"
	"github.com/realmgate/realmgate/internal/pool"
)

const (
	// leastPause keeps the timers from running for every single reservation.
	leastPause = 2 * time.Millisecond
	// late is how long after a reservation's end it is left in the data plane, if pool.rest is not shorter: a client
	// whose SYN came in time may prove itself until its handshake has had its 3 s.
	late = 4 * time.Second
)

func (st *state) kickTimers() {
	select {
	case st.kick <- struct{}{}:
	default:
	}
}

// Run does what is due when it is due, and writes what the disk is to know, until ctx ends.
func (a *Allocator) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { a.keeper.run(ctx) })
	running.Go(func() { a.runRelief(ctx) })
	a.runTimers(ctx)
	running.Wait()
	a.keeper.flush()
}

func (a *Allocator) runTimers(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(a.advance())
		select {
		case <-ctx.Done():
			return
		case <-a.kick:
			// A burst of reservations kicks once.
			select {
			case <-ctx.Done():
				return
			case <-time.After(leastPause):
			}
		case <-timer.C:
		}
	}
}

// retryWaiting is how often questions that wait are tried again: when a binding has rested, the data plane alone knows. Not
// more often, as each of them searches the pool under the lock.
const retryWaiting = 20 * time.Millisecond

// advance ends what is over, wakes whoever waits for an address, and returns how long nothing is to be done.
func (a *Allocator) advance() time.Duration {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now, late := a.options.Now(), min(late, a.config.Pool.Rest)
	for _, id := range a.pool.Reservations.Due(now.Add(-late)) {
		a.expire(now, id)
	}
	a.pool.Advance(now)
	if now.Sub(a.woken) >= retryWaiting {
		a.wake()
	}
	a.tellRecovery(now)
	pause := time.Hour
	if next, waits := a.pool.NextEvent(); waits {
		pause = max(next.Add(late).Sub(now), leastPause)
	}
	if len(a.line) > 0 {
		pause = min(pause, max(a.woken.Add(retryWaiting).Sub(now), leastPause))
	}
	if a.pressure.exhausted {
		pause = min(pause, calm)
	}
	return pause
}

// wake tries the questions that wait again, who came first before others.
func (qs *questions) wake() {
	if len(qs.line) == 0 {
		return
	}
	qs.woken = qs.options.Now()
	left := qs.line[:0]
	for _, w := range qs.line {
		found, err := qs.try(w.question, true)
		if mayPass(err) {
			left = append(left, w)
			continue
		}
		w.done <- outcome{found, err}
	}
	clear(qs.line[len(left):])
	qs.line = left
}

// expire ends a reservation whose time is over. What became of one that no event told of, the data plane says itself.
func (a *Allocator) expire(now model.Instant, id uint64) {
	res, ok := a.pool.Reservations.Get(id)
	if !ok {
		return
	}
	found, err := a.options.Plane.Withdraw(id)
	if err != nil && !errors.Is(err, datapath.ErrSpent) {
		a.log.Error("reservation not withdrawn", "name", res.Name, "error", err)
	}
	if found.Used > 0 {
		if res.Claims == res.Granted {
			a.claimed(found.ClaimedAt, &res)
		}
		a.pool.Reservations.Claimed(found.ClaimedAt, id, 0)
		return
	}
	if after, ok := a.pool.Reservations.Expired(now, id); !ok || after.State != pool.Expired {
		return
	}
	if used, _ := a.options.Plane.BindingUse(res.Binding); used > res.Created {
		return // a known client may have come by it, who claims nothing; and the place is kept by those who use it
	}
	a.outcome(res.Expires, &res, policy.Abandoned)
	a.tellAnswer(model.Unused, &res, netip.Addr{})
	if res.Verified && res.Requester.IsValid() {
		a.holdings.Hold(holder(requestOf(&res)), res.Binding, a.heldUntil(res.Created))
	}
}

// heldUntil is until when an answer that nobody uses counts against its asker: while it keeps the place, and at least as
// long as a second one in its wake would.
func (st *state) heldUntil(answered model.Instant) model.Instant {
	rest := st.config.Pool.Rest
	return answered.Add(max(rest, 2*(st.config.Pool.ReservationTimeout+min(late, rest))))
}

func requestOf(r *pool.Reservation) pool.Request {
	return pool.Request{Requester: r.Requester, Source: r.Source, Name: r.Name, Verified: r.Verified}
}

// claimed notes that a client of the asker came.
func (cs *claims) claimed(at model.Instant, r *pool.Reservation) {
	cs.outcome(at, r, policy.Claimed)
	if !r.Requester.IsValid() {
		return // adopted: when it was answered is forgotten, too
	}
	cs.holdings.Release(holder(requestOf(r)), r.Binding)
	if hear := cs.options.Claims; hear != nil {
		hear(Claim{r.Name.String(), r.Requester, max(0, at.Sub(r.Created))})
	}
}

// used notes which client came. An asker who comes itself, and nobody else does, keeps the place from others by that.
func (cs *claims) used(at model.Instant, client netip.Addr, r *pool.Reservation) {
	cs.users.Note(at, client, r.Binding)
	cs.alone.ReleaseOthers(client, r.Binding)
	rest, others := cs.config.Pool.Rest, cs.users.Others(client, r.Binding)
	if r.Verified && r.Requester == client && (others == 0 || others.Add(rest) <= at) {
		cs.alone.Hold(client, r.Binding, at.Add(rest))
	}
}

func (cs *claims) outcome(at model.Instant, r *pool.Reservation, result policy.Result) {
	if !r.Requester.IsValid() {
		return // adopted: who asked is forgotten
	}
	cs.admission.Outcome(at, asks(requestOf(r)), result) // its service may be gone
}

// OnClaim takes what the data plane tells of a claim.
func (cs *claims) OnClaim(event datapath.ClaimEvent) {
	cs.mutex.Lock()
	defer cs.mutex.Unlock()
	cs.onClaim(event)
}

func (cs *claims) onClaim(event datapath.ClaimEvent) {
	before, ok := cs.pool.Reservations.Get(event.ID)
	if !ok {
		return
	}
	if before.Claims == before.Granted {
		cs.claimed(event.At, &before)
	}
	cs.tellAnswer(model.Claimed, &before, event.Client)
	if event.Client.IsValid() {
		cs.used(event.At, event.Client, &before)
	}
	cs.spend(event.At, event.ID, event.Left)
}

// spend notes how many claims a reservation has left; one without is over.
func (cs *claims) spend(at model.Instant, id uint64, left int) {
	if after, ok := cs.pool.Reservations.Claimed(at, id, left); ok && after.State == pool.Closed {
		_, _ = cs.options.Plane.Withdraw(id)
	}
}
