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

// Reservations are those of a pool that stand, by the data plane's ID, question and expiry.
type Reservations struct {
	*bindings
	entries    []entry
	vacancies  []int32 // entries that hold nothing, and some that adoption took
	generation uint32
	asked      map[askedKey]int32
	halfOpen   map[netip.Addr]int
	due        timers // expiries
	dueNow     []timer
}

// vacancy returns an entry that holds nothing.
func (rs *Reservations) vacancy() int32 {
	for n := len(rs.vacancies); n > 0; n = len(rs.vacancies) {
		e := rs.vacancies[n-1]
		rs.vacancies = rs.vacancies[:n-1]
		if !rs.entries[e].live { // adoption may have taken it meanwhile
			return e
		}
	}
	rs.entries = append(rs.entries, entry{})
	return int32(len(rs.entries) - 1) // bounded by MaxCapacity
}

// enter fills an entry with a reservation of a slot's binding.
func (rs *Reservations) enter(e int32, r Reservation, slot int32) {
	b := &rs.table[slot]
	rs.entries[e] = entry{Reservation: r, live: true, host: b.Service.Host}
	b.active++
	rs.counts.active.Add(1)
	rs.halfOpen[b.Service.Host]++
	rs.due.set(e, r.Expires)
	k := askedKey{r.Name, r.Requester, r.Source}
	if o, ok := rs.asked[k]; !ok || rs.entries[o].Expires <= r.Expires {
		rs.asked[k] = e
	}
}

// end takes a reservation out of the pool and returns what it was, in its last state.
func (rs *Reservations) end(e int32, last State) Reservation {
	n := &rs.entries[e]
	rs.counts.active.Add(-1)
	if rs.halfOpen[n.host]--; rs.halfOpen[n.host] == 0 {
		delete(rs.halfOpen, n.host)
	}
	rs.forget(e)
	rs.due.remove(e)
	if slot, ok := rs.lookup(n.Binding); ok {
		rs.table[slot].active--
	}
	res := n.Reservation
	res.State = last
	*n = entry{}
	rs.vacancies = append(rs.vacancies, e)
	return res
}

func (rs *Reservations) forget(e int32) {
	n := &rs.entries[e]
	if k := (askedKey{n.Name, n.Requester, n.Source}); rs.asked[k] == e {
		// A missing key reads as entry 0, and deleting nothing is harmless.
		delete(rs.asked, k)
	}
}

// lookupEntry finds a reservation by its ID.
func (rs *Reservations) lookupEntry(id uint64) (int32, bool) {
	e := uint32(id)
	if int64(e) >= int64(len(rs.entries)) || !rs.entries[e].live || rs.entries[e].ID != id {
		return 0, false
	}
	return int32(e), true // below len(rs.entries)
}

// Due returns the reservations whose expiry has passed, the earliest first. The caller takes each one's record out of the
// data plane and reports what it found there: Claimed, then Expired. Until it does, Due repeats the ID.
func (rs *Reservations) Due(now model.Instant) []uint64 {
	rs.dueNow = rs.due.until(now, rs.dueNow[:0])
	slices.SortFunc(rs.dueNow, func(a, b timer) int { return cmp.Compare(a.at, b.at) })
	ids := make([]uint64, len(rs.dueNow))
	for i, t := range rs.dueNow {
		ids[i] = rs.entries[t.entry].ID
	}
	return ids
}

// Get returns a reservation that is in the pool.
func (rs *Reservations) Get(id uint64) (Reservation, bool) {
	e, ok := rs.lookupEntry(id)
	if !ok {
		return Reservation{}, false
	}
	return rs.entries[e].Reservation, true
}

// All yields every reservation in the pool, in no order. The pool must not be changed meanwhile.
func (rs *Reservations) All() iter.Seq[Reservation] {
	return func(yield func(Reservation) bool) {
		for i := range rs.entries {
			if rs.entries[i].live && !yield(rs.entries[i].Reservation) {
				return
			}
		}
	}
}
