package pool

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// askedKey finds the reservation that a repeated question gets again.
type askedKey struct {
	name      model.Name
	requester netip.Addr
	source    netip.Prefix
}

// Reserve answers a question for a bound service; it counts as a use. With fresh the reservation is new: install it in the
// data plane, then answer; Cancel it when the install fails (I6). Without fresh it is a standing reservation's answer
// again, expiry unchanged: raise the data plane's claims to Granted, then answer; when the data plane has no such
// reservation any more, report Claimed or Expired and call Reserve again.
func (rs *Reservations) Reserve(now model.Instant, r Request) (res Reservation, fresh bool, err error) {
	if res, ok := rs.Repeat(now, r); ok {
		return res, false, nil
	}
	slot, ok := rs.bound[r.Service]
	if !ok {
		return Reservation{}, false, fmt.Errorf("reserve for %s: %w: %s is not bound", r.Name, ErrRequest, r.Service)
	}
	b := &rs.table[slot]
	if err := rs.admit(b.Service.Host); err != nil {
		return Reservation{}, false, fmt.Errorf("reserve for %s: %w", r.Name, err)
	}
	e := rs.vacancy()
	rs.generation = max(1, rs.generation+1)
	rs.enter(e, Reservation{
		ID: uint64(rs.generation)<<32 | uint64(uint32(e)), Binding: b.ID, // e >= 0
		Name: r.Name, Requester: r.Requester, Source: r.Source,
		Created: now, Expires: now.Add(rs.options.ReservationTimeout), Granted: 1, Claims: 1, Verified: r.Verified, State: Active,
	}, slot)
	rs.entries[e].queries[0] = r.Query
	rs.answer(slot, now)
	rs.counts.reservations.Add(1)
	return rs.entries[e].Reservation, true, nil
}

// Repeat is the first step of Reserve alone: the standing reservation that the same requester got for the same name, with
// one more claim if the query is a new one and fewer than MaxClaims were given. Limits need not be asked for it.
func (rs *Reservations) Repeat(now model.Instant, r Request) (Reservation, bool) {
	i, ok := rs.asked[askedKey{r.Name, r.Requester, r.Source}]
	if !ok {
		return Reservation{}, false
	}
	e := &rs.entries[i]
	// The name may mean another service since, or the service may have moved.
	slot, bound := rs.bound[r.Service]
	if !bound || rs.table[slot].ID != e.Binding || e.Expires.Sub(now) < MinimumLeft {
		return Reservation{}, false
	}
	rs.counts.repeats.Add(1)
	rs.answer(slot, now)
	for _, q := range e.queries[:min(e.Granted, MaxClaims)] {
		if q == r.Query {
			return e.Reservation, true
		}
	}
	if e.Granted < MaxClaims {
		e.queries[e.Granted] = r.Query
		e.Granted++
		e.Claims++
	}
	return e.Reservation, true
}

// Forget has the next question like its own be answered with another reservation, though this one goes on to stand.
func (rs *Reservations) Forget(id uint64) {
	if e, ok := rs.lookupEntry(id); ok {
		rs.forget(e)
	}
}

func (rs *Reservations) answer(slot int32, now model.Instant) {
	rs.table[slot].Answered = now
	rs.touch(slot, now)
}

// admit applies the half-open quotas and the table's bound.
func (rs *Reservations) admit(host netip.Addr) error {
	switch {
	case rs.options.HalfOpen > 0 && int(rs.counts.active.Load()) >= rs.options.HalfOpen:
		rs.counts.refused.Add(1)
		return ErrHalfOpen
	case rs.options.HalfOpenPerHost > 0 && rs.halfOpen[host] >= rs.options.HalfOpenPerHost:
		rs.counts.refused.Add(1)
		return ErrHalfOpenHost
	case int(rs.counts.active.Load()) >= rs.options.Capacity:
		rs.counts.full.Add(1)
		return ErrFull
	}
	return nil
}

// Claimed reports that the data plane used a claim at the instant at and has left claims for others: more than the pool
// gave where a resolver's clients come. With none left the reservation is Closed and has left the pool: take its record
// out of the data plane. It returns the reservation as it is now, false for one that is not in the pool.
func (rs *Reservations) Claimed(at model.Instant, id uint64, left int) (Reservation, bool) {
	e, ok := rs.lookupEntry(id)
	if !ok {
		return Reservation{}, false
	}
	n := &rs.entries[e]
	if !n.used {
		n.used = true
		rs.counts.claimed.Add(1)
	}
	if slot, ok := rs.lookup(n.Binding); ok {
		rs.touch(slot, at)
	}
	n.Claims = max(0, left)
	if n.Claims > 0 {
		return n.Reservation, true
	}
	return rs.end(e, Closed), true
}

// Expired reports that the data plane admits nothing by the reservation any more because its expiry has passed; its record
// must be gone already. It has left the pool: Closed if some claim was used, Cancelled if its binding was withdrawn under
// it, so that nobody is to blame, else Expired. It returns false for one that is not in the pool, or whose time is not
// over at now.
func (rs *Reservations) Expired(now model.Instant, id uint64) (Reservation, bool) {
	e, ok := rs.lookupEntry(id)
	if !ok || rs.entries[e].Expires > now {
		return Reservation{}, false
	}
	n := &rs.entries[e]
	slot, found := rs.lookup(n.Binding)
	switch {
	case n.used:
		return rs.end(e, Closed), true
	case !found || rs.table[slot].State != Bound:
		rs.counts.cancelled.Add(1)
		return rs.end(e, Cancelled), true
	}
	rs.counts.expired.Add(1)
	return rs.end(e, Expired), true
}

// Cancel withdraws a reservation: its install failed, or its service is gone. Nobody is to blame.
func (rs *Reservations) Cancel(id uint64) (Reservation, bool) {
	e, ok := rs.lookupEntry(id)
	if !ok {
		return Reservation{}, false
	}
	rs.counts.cancelled.Add(1)
	return rs.end(e, Cancelled), true
}
