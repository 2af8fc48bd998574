package pool

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// askedKey finds the offer that a repeated question gets again.
type askedKey struct {
	name      model.Name
	requester netip.Addr
	source    netip.Prefix
}

// Offer answers a question for a bound service; it counts as a use. With fresh the reservation is new: install it in the
// data plane, then answer; Cancel it when the install fails (I6). Without fresh it is a standing offer's answer again,
// expiry unchanged: raise the data plane's claims to Granted, then answer; when the data plane has no such offer any more,
// report Claimed or Expired and call Offer again.
func (p *Pool) Offer(now model.Instant, r Request) (res Reservation, fresh bool, err error) {
	if res, ok := p.Repeat(now, r); ok {
		return res, false, nil
	}
	slot, ok := p.bound[r.Service]
	if !ok {
		return Reservation{}, false, fmt.Errorf("offer for %s: %w: %s is not bound", r.Name, ErrRequest, r.Service)
	}
	b := &p.table[slot]
	if err := p.admit(b.Service.Host); err != nil {
		return Reservation{}, false, fmt.Errorf("offer for %s: %w", r.Name, err)
	}
	e := p.vacancy()
	p.generation = max(1, p.generation+1)
	p.enter(e, Reservation{
		ID: uint64(p.generation)<<32 | uint64(uint32(e)), Binding: b.ID, // e >= 0
		Name: r.Name, Requester: r.Requester, Source: r.Source,
		Created: now, Expires: now.Add(p.options.Offer), Granted: 1, Claims: 1, Verified: r.Verified, State: Offered,
	}, slot)
	p.entries[e].queries[0] = r.Query
	p.answer(slot, now)
	p.counts.Offers++
	return p.entries[e].Reservation, true, nil
}

// Repeat is the first step of Offer alone: the standing offer that the same requester got for the same name, with one more
// claim if the query is a new one and fewer than MaxClaims were given. Limits need not be asked for it.
func (p *Pool) Repeat(now model.Instant, r Request) (Reservation, bool) {
	i, ok := p.asked[askedKey{r.Name, r.Requester, r.Source}]
	if !ok {
		return Reservation{}, false
	}
	e := &p.entries[i]
	// The name may mean another service since, or the service may have moved.
	slot, bound := p.bound[r.Service]
	if !bound || p.table[slot].ID != e.Binding || e.Expires.Sub(now) < MinimumLeft {
		return Reservation{}, false
	}
	p.counts.Repeats++
	p.answer(slot, now)
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
func (p *Pool) Forget(id uint64) {
	if e, ok := p.lookupEntry(id); ok {
		p.forget(e)
	}
}

func (p *Pool) answer(slot int32, now model.Instant) {
	p.table[slot].Answered = now
	p.touch(slot, now)
}

// admit applies the half-open quotas and the table's bound.
func (p *Pool) admit(host netip.Addr) error {
	switch {
	case p.options.HalfOpen > 0 && p.counts.Offered >= p.options.HalfOpen:
		p.counts.Refused++
		return ErrHalfOpen
	case p.options.HalfOpenPerHost > 0 && p.halfOpen[host] >= p.options.HalfOpenPerHost:
		p.counts.Refused++
		return ErrHalfOpenHost
	case p.counts.Offered >= p.options.Capacity:
		p.counts.Full++
		return ErrFull
	}
	return nil
}

// Claimed reports that the data plane used a claim at the instant at and has left claims for others: more than the pool
// gave where a resolver's clients come. With none left the reservation is Closed and has left the pool: take its record
// out of the data plane. It returns the reservation as it is now, false for one that is not in the pool.
func (p *Pool) Claimed(at model.Instant, id uint64, left int) (Reservation, bool) {
	e, ok := p.lookupEntry(id)
	if !ok {
		return Reservation{}, false
	}
	n := &p.entries[e]
	if !n.used {
		n.used = true
		p.counts.Claimed++
	}
	if slot, ok := p.lookup(n.Binding); ok {
		p.touch(slot, at)
	}
	n.Claims = max(0, left)
	if n.Claims > 0 {
		return n.Reservation, true
	}
	return p.end(e, Closed), true
}

// Expired reports that the data plane admits nothing by the reservation any more because its expiry has passed; its record
// must be gone already. It has left the pool: Closed if some claim was used, Cancelled if its binding was withdrawn under
// it, so that nobody is to blame, else Expired. It returns false for one that is not in the pool, or whose time is not
// over at now.
func (p *Pool) Expired(now model.Instant, id uint64) (Reservation, bool) {
	e, ok := p.lookupEntry(id)
	if !ok || p.entries[e].Expires > now {
		return Reservation{}, false
	}
	n := &p.entries[e]
	slot, found := p.lookup(n.Binding)
	switch {
	case n.used:
		return p.end(e, Closed), true
	case !found || p.table[slot].State != Bound:
		p.counts.Cancelled++
		return p.end(e, Cancelled), true
	}
	p.counts.Expired++
	return p.end(e, Expired), true
}

// Cancel takes back a reservation: its install failed, or its service is gone. Nobody is to blame.
func (p *Pool) Cancel(id uint64) (Reservation, bool) {
	e, ok := p.lookupEntry(id)
	if !ok {
		return Reservation{}, false
	}
	p.counts.Cancelled++
	return p.end(e, Cancelled), true
}
