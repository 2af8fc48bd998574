package pool

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// place is one public address and what is on it.
type place struct {
	address netip.Addr
	first   int32 // chain of bindings, -1 at its end
	count   int32 // bindings, resting ones included
	bound   int32
	freshAt int32 // position in places.fresh, -1 elsewhere
	// used is the last use of the bindings that have left, rest the end of a rest of the whole address; 0 is never.
	used, rest model.Instant
	retired    bool   // no longer configured: only waits for its rests
	looked     uint64 // the round in which a search did
}

// use is what a place counts as in the statistics.
type use uint8

const (
	free use = iota
	inUse
	resting
	uses
)

func (pl *place) use() use {
	switch {
	case pl.bound > 0:
		return inUse
	case pl.count > 0 || pl.rest != 0:
		return resting
	default:
		return free
	}
}

// places is the table of addresses, with the indexes that find one for a service. The listed addresses come first, in
// their order.
type places struct {
	table    []place
	listed   int
	index    map[netip.Addr]int32
	fresh    []int32 // free and never used, for a random pick
	freshSet set     // the same, for the circular order
	idle     timers  // free, by last use
	rests    timers  // by the end of the rest of the whole address
	ports    map[portAt]holder
	keys     map[key]*keyPlaces
	owners   map[string][]ownerPlace
	tally    *tally
}

func newPlaces(addresses []netip.Addr) *places {
	ps := &places{
		listed: len(addresses), index: make(map[netip.Addr]int32, len(addresses)),
		ports: map[portAt]holder{}, keys: map[key]*keyPlaces{}, owners: map[string][]ownerPlace{}, tally: new(tally),
	}
	for _, a := range addresses {
		ps.append(a, false)
	}
	return ps
}

func (ps *places) append(a netip.Addr, retired bool) int32 {
	i := int32(len(ps.table)) // bounded by model.MaxPoolAddresses and the rests
	ps.table = append(ps.table, place{address: a, first: -1, freshAt: -1, retired: retired})
	ps.index[a] = i
	ps.enter(i)
	return i
}

// reach returns an address's place; one that is not listed gets a retired one.
func (ps *places) reach(a netip.Addr) int32 {
	if i, ok := ps.index[a]; ok {
		return i
	}
	return ps.append(a, true)
}

// enter counts a place in, and puts a free one where it is found.
func (ps *places) enter(i int32) {
	pl := &ps.table[i]
	if pl.retired {
		return
	}
	u := pl.use()
	ps.tally[u].Add(1)
	switch {
	case u != free:
	case pl.used != 0:
		ps.idle.set(i, pl.used)
	default:
		pl.freshAt = int32(len(ps.fresh)) // bounded by model.MaxPoolAddresses
		ps.fresh = append(ps.fresh, i)
		ps.freshSet.add(i)
	}
}

// leave undoes enter, before the place changes.
func (ps *places) leave(i int32) {
	pl := &ps.table[i]
	if pl.retired {
		return
	}
	ps.tally[pl.use()].Add(-1)
	ps.idle.remove(i)
	if pl.freshAt >= 0 {
		last := ps.fresh[len(ps.fresh)-1]
		ps.fresh[pl.freshAt] = last
		ps.table[last].freshAt = pl.freshAt
		ps.fresh = ps.fresh[:len(ps.fresh)-1]
		ps.freshSet.remove(i)
		pl.freshAt = -1
	}
}

// setRest sets the end of the rest of the whole address; 0 ends it.
func (ps *places) setRest(i int32, until model.Instant) {
	ps.leave(i)
	ps.table[i].rest = until
	ps.enter(i)
	if until == 0 {
		ps.rests.remove(i)
	} else {
		ps.rests.set(i, until)
	}
}

// ownerPlace counts an owner's bindings on a place.
type ownerPlace struct{ place, count int32 }

func (ps *places) own(owner string, i, by int32) {
	list := ps.owners[owner]
	for n := range list {
		if list[n].place != i {
			continue
		}
		if list[n].count += by; list[n].count == 0 {
			list[n] = list[len(list)-1]
			list = list[:len(list)-1]
			if ps.owners[owner] = list; len(list) == 0 {
				delete(ps.owners, owner)
			}
		}
		return
	}
	ps.owners[owner] = append(list, ownerPlace{i, by})
}
