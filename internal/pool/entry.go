package pool

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// entry is a place in the table of reservations.
type entry struct {
	Reservation
	live    bool
	used    bool       // some claim was used
	host    netip.Addr // whose quota it counts for
	queries [MaxClaims]uint64
}

// vacancy returns an entry that holds nothing.
func (p *Pool) vacancy() int32 {
	for n := len(p.vacancies); n > 0; n = len(p.vacancies) {
		e := p.vacancies[n-1]
		p.vacancies = p.vacancies[:n-1]
		if !p.entries[e].live { // adoption may have taken it meanwhile
			return e
		}
	}
	p.entries = append(p.entries, entry{})
	return int32(len(p.entries) - 1) // bounded by MaxCapacity
}

// enter fills an entry with a reservation of a slot's binding.
func (p *Pool) enter(e int32, r Reservation, slot int32) {
	b := &p.table[slot]
	p.entries[e] = entry{Reservation: r, live: true, host: b.Service.Host}
	b.offered++
	p.counts.Offered++
	p.halfOpen[b.Service.Host]++
	p.due.set(e, r.Expires)
	k := askedKey{r.Name, r.Requester, r.Source}
	if o, ok := p.asked[k]; !ok || p.entries[o].Expires <= r.Expires {
		p.asked[k] = e
	}
}

// end takes a reservation out of the pool and returns what it was, in its last state.
func (p *Pool) end(e int32, last State) Reservation {
	n := &p.entries[e]
	p.counts.Offered--
	if p.halfOpen[n.host]--; p.halfOpen[n.host] == 0 {
		delete(p.halfOpen, n.host)
	}
	p.forget(e)
	p.due.remove(e)
	if slot, ok := p.lookup(n.Binding); ok {
		p.table[slot].offered--
	}
	res := n.Reservation
	res.State = last
	*n = entry{}
	p.vacancies = append(p.vacancies, e)
	return res
}

func (p *Pool) forget(e int32) {
	n := &p.entries[e]
	if k := (askedKey{n.Name, n.Requester, n.Source}); p.asked[k] == e {
		// A missing key reads as entry 0, and deleting nothing is harmless.
		delete(p.asked, k)
	}
}

// lookupEntry finds a reservation by its ID.
func (p *Pool) lookupEntry(id uint64) (int32, bool) {
	e := uint32(id)
	if int64(e) >= int64(len(p.entries)) || !p.entries[e].live || p.entries[e].ID != id {
		return 0, false
	}
	return int32(e), true // below len(p.entries)
}

// Due returns the reservations whose expiry has passed, the earliest first. The caller takes each one's record out of the
// data plane and reports what it found there: Claimed, then Expired. Until it does, Due repeats the ID.
func (p *Pool) Due(now model.Instant) []uint64 {
	p.dueNow = p.due.until(now, p.dueNow[:0])
	slices.SortFunc(p.dueNow, func(a, b timer) int { return cmp.Compare(a.at, b.at) })
	ids := make([]uint64, len(p.dueNow))
	for i, t := range p.dueNow {
		ids[i] = p.entries[t.entry].ID
	}
	return ids
}

// Get returns a reservation that is in the pool.
func (p *Pool) Get(id uint64) (Reservation, bool) {
	e, ok := p.lookupEntry(id)
	if !ok {
		return Reservation{}, false
	}
	return p.entries[e].Reservation, true
}

// All yields every reservation in the pool, in no order. The pool must not be changed meanwhile.
func (p *Pool) All() iter.Seq[Reservation] {
	return func(yield func(Reservation) bool) {
		for i := range p.entries {
			if p.entries[i].live && !yield(p.entries[i].Reservation) {
				return
			}
		}
	}
}
