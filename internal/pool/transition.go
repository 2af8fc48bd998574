package pool

import (
	"cmp"
	"iter"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Claimed reports that the data plane used a claim at the instant at and has
// claimsLeft left. With none left the reservation is Claimed and its place held
// until at+Again; without Again it is Closed at once: take its record out of
// the data plane before the next Offer. It returns the reservation as it is
// now, false for one that is not Offered.
func (p *Pool) Claimed(at model.Instant, id uint64, claimsLeft int) (Reservation, bool) {
	e, ok := p.lookup(id)
	if !ok || p.entries[e].State != Offered {
		return Reservation{}, false
	}
	n := &p.entries[e]
	if !n.used {
		n.used = true
		p.counts.Claimed++
	}
	n.lastClaim = max(n.lastClaim, at)
	n.idle = false
	n.Claims = max(0, claimsLeft)
	if n.Claims > 0 {
		return n.Reservation, true
	}
	return p.startHold(e, at), true
}

// startHold ends an offer that was used; now is an instant at which the end of
// its hold may already be past.
func (p *Pool) startHold(e int32, now model.Instant) Reservation {
	n := &p.entries[e]
	p.leaveOffered(e)
	n.FreeAt = n.lastClaim.Add(n.Again)
	if n.FreeAt <= now {
		return p.close(e)
	}
	n.State = Claimed
	p.counts.Held++
	p.due.set(e, n.FreeAt)
	return n.Reservation
}

// close removes an entry from the pool and returns what it was, as Closed.
func (p *Pool) close(e int32) Reservation {
	res := p.entries[e].Reservation
	res.State = Closed
	p.vacate(e)
	return res
}

// Expired reports that the data plane admits nothing by the reservation any
// more because its expiry, or the end of its hold, has passed; its record must
// be gone already. An offer that no packet claimed is then Expired, and
// quarantined from its expiry on; a used one is Claimed while its last claim's
// hold lasts, else Closed; a hold is Closed. It returns false for an unknown
// reservation and for one whose time is not over at now.
func (p *Pool) Expired(now model.Instant, id uint64) (Reservation, bool) {
	e, ok := p.lookup(id)
	if !ok {
		return Reservation{}, false
	}
	n := &p.entries[e]
	switch {
	case n.State == Claimed && n.FreeAt <= now:
		p.due.remove(e)
		p.counts.Held--
		return p.close(e), true
	case n.State != Offered || n.Expires > now:
		return Reservation{}, false
	case n.used:
		return p.startHold(e, now), true
	}
	p.counts.Expired++
	p.leaveOffered(e)
	return p.rest(e, now, Expired, n.Expires.Add(p.options.Quarantine)), true
}

// rest quarantines an entry that left its former state's indexes, or removes it
// when until is past.
func (p *Pool) rest(e int32, now model.Instant, state State, until model.Instant) Reservation {
	n := &p.entries[e]
	if until <= now {
		res := p.close(e)
		res.State, res.FreeAt = state, until
		return res
	}
	p.places.rest(n.place, n.Protocol, n.Port)
	n.State, n.FreeAt = state, until
	p.counts.Quarantined++
	p.startRest(e)
	return n.Reservation
}

// Cancel takes back an offer that was not answered with: its install failed.
// The place is free at once, unless the offer was answered with for another
// query; then Cancel is Withdraw.
func (p *Pool) Cancel(now model.Instant, id uint64) (Reservation, bool) {
	e, ok := p.lookup(id)
	if !ok || p.entries[e].State != Offered {
		return Reservation{}, false
	}
	if p.entries[e].Granted > 1 || p.entries[e].used {
		return p.Withdraw(now, id)
	}
	p.counts.Cancelled++
	p.leaveOffered(e)
	return p.rest(e, now, Cancelled, now), true
}

// Withdraw takes back an offer or a hold that clients may know, as when its
// host is no longer configured. The record must be gone from the data plane. No
// other host gets the place before a late first packet is out of the question:
// a quarantine after the expiry, or the end of the hold.
func (p *Pool) Withdraw(now model.Instant, id uint64) (Reservation, bool) {
	e, ok := p.lookup(id)
	if !ok || p.entries[e].quarantined() {
		return Reservation{}, false
	}
	return p.withdraw(e, now), true
}

func (p *Pool) withdraw(e int32, now model.Instant) Reservation {
	n := &p.entries[e]
	p.counts.Cancelled++
	if n.State == Claimed {
		p.due.remove(e)
		p.counts.Held--
		return p.rest(e, now, Cancelled, n.FreeAt)
	}
	p.leaveOffered(e)
	return p.rest(e, now, Cancelled, n.Expires.Add(p.options.Quarantine))
}

// Due returns the offers whose expiry has passed and the holds that ended, the
// earliest first. The caller takes each one's record out of the data plane and
// reports what it found there: Claimed, then Expired. Until it does, the place
// stays taken and Due repeats the ID.
func (p *Pool) Due(now model.Instant) []uint64 {
	p.found = p.due.until(now, p.found[:0])
	slices.SortFunc(p.found, func(a, b timer) int { return cmp.Compare(a.at, b.at) })
	ids := make([]uint64, len(p.found))
	for i, t := range p.found {
		ids[i] = p.entries[t.entry].ID
	}
	return ids
}

// Advance ends the quarantines that are over. Offer does so by itself.
func (p *Pool) Advance(now model.Instant) {
	for t, ok := p.quarantine.first(); ok && t.at <= now; t, ok = p.quarantine.first() {
		p.endRest(t.entry)
		p.counts.Quarantined--
		p.vacate(t.entry)
	}
}

// NextEvent returns when Due or Advance has work next; it is in the past while
// something that Due returned is not reported.
func (p *Pool) NextEvent() (model.Instant, bool) {
	d, ok1 := p.due.first()
	q, ok2 := p.quarantine.first()
	if !ok1 || ok2 && q.at < d.at {
		return q.at, ok2
	}
	return d.at, ok1
}

// Get returns a reservation that is in the pool.
func (p *Pool) Get(id uint64) (Reservation, bool) {
	e, ok := p.lookup(id)
	if !ok {
		return Reservation{}, false
	}
	return p.entries[e].Reservation, true
}

// All yields every reservation in the pool, holds and quarantines included, in
// no order. The pool must not be changed meanwhile.
func (p *Pool) All() iter.Seq[Reservation] {
	return func(yield func(Reservation) bool) {
		for i := range p.entries {
			if p.entries[i].live && !yield(p.entries[i].Reservation) {
				return
			}
		}
	}
}
