package pool

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// topLevel is the packing from which addresses count as equally packed.
const topLevel = 127

// place is one public address and the reservations on it.
type place struct {
	address netip.Addr
	slot    int32 // number among the places in use, -1 while free
	first   int32 // chain of entries, -1 at its end
	count   int32 // entries, quarantines included
	live    int32 // entries that are not quarantined
	whole   int32 // live entries that take the whole address
	freeAt  int32 // position in places.free
	retired bool  // no longer configured: only waits for its quarantines
}

// use is what a place counts as in the statistics.
type use uint8

const (
	free use = iota
	shared
	exclusiveUse
	resting
	uses
)

func (pl *place) use() use {
	switch {
	case pl.count == 0:
		return free
	case pl.whole > 0:
		return exclusiveUse
	case pl.live > 0:
		return shared
	default:
		return resting
	}
}

// key is a (protocol, port) pair, with 0 for any in either.
type key uint32

func keyOf(p model.Protocol, port uint16) key { return key(p)<<16 | key(port) }

// holders are the slots on which a key is held.
type holders struct {
	slots bitset
	size  int
	// more counts what is held beyond one on a slot: a quarantine and the same
	// host's new offer, or disjoint sources. Nearly always empty.
	more map[int32]int
}

func (h *holders) add(slot int32) {
	if h.slots.has(slot) {
		if h.more == nil {
			h.more = map[int32]int{}
		}
		h.more[slot]++
		return
	}
	h.slots.add(slot)
	h.size++
}

func (h *holders) remove(slot int32) {
	if n := h.more[slot]; n > 1 {
		h.more[slot] = n - 1
	} else if n == 1 {
		delete(h.more, slot)
	} else {
		h.slots.remove(slot)
		h.size--
	}
}

// places is the table of addresses with the indexes that find one for a
// request. Places in use are numbered densely by slots, the oldest lowest, so
// that the bitsets over slots stay short and packed places lie together.
type places struct {
	table   []place
	index   map[netip.Addr]int32
	free    []int32 // for a random pick
	freeSet set     // for the circular order
	slots   []int32 // place of each slot
	spare   set     // slots given back
	levels  [topLevel + 1]set
	keys    map[key]*holders
	halves  int // entries with exactly one of protocol and port any
	tally   [uses]int
}

func newPlaces(addresses []netip.Addr) *places {
	ps := &places{index: make(map[netip.Addr]int32, len(addresses)), keys: map[key]*holders{}}
	for _, a := range addresses {
		ps.append(a, false)
	}
	return ps
}

func (ps *places) append(a netip.Addr, retired bool) {
	i := int32(len(ps.table)) // bounded by MaxAddresses and Capacity
	ps.table = append(ps.table, place{address: a, slot: -1, first: -1, retired: retired})
	ps.index[a] = i
	if !retired {
		ps.tally[free]++
		ps.release(i)
	}
}

// release puts a place that is in no use on the free list.
func (ps *places) release(i int32) {
	ps.table[i].freeAt = int32(len(ps.free)) // bounded by MaxAddresses
	ps.free = append(ps.free, i)
	ps.freeSet.add(i)
}

// take removes a place from the free list and numbers it.
func (ps *places) take(i int32) {
	pl := &ps.table[i]
	last := ps.free[len(ps.free)-1]
	ps.free[pl.freeAt] = last
	ps.table[last].freeAt = pl.freeAt
	ps.free = ps.free[:len(ps.free)-1]
	ps.freeSet.remove(i)
	if pl.slot = ps.spare.next(0); pl.slot >= 0 {
		ps.spare.remove(pl.slot)
	} else {
		pl.slot = int32(len(ps.slots)) // bounded by MaxAddresses
		ps.slots = append(ps.slots, 0)
	}
	ps.slots[pl.slot] = i
}

// hold counts an entry of (p, port) in on place i.
func (ps *places) hold(i int32, p model.Protocol, port uint16, live bool) {
	pl := &ps.table[i]
	if pl.retired {
		pl.count++
		return
	}
	ps.tally[pl.use()]--
	if pl.count == 0 {
		ps.take(i)
	} else {
		ps.levels[level(pl.count)].remove(pl.slot)
	}
	pl.count++
	pl.weigh(p, port, live, 1)
	ps.levels[level(pl.count)].add(pl.slot)
	ps.tally[pl.use()]++
	h := ps.keys[keyOf(p, port)]
	if h == nil {
		h = &holders{}
		ps.keys[keyOf(p, port)] = h
	}
	h.add(pl.slot)
	if half(p, port) {
		ps.halves++
	}
}

// drop counts an entry out that hold counted in.
func (ps *places) drop(i int32, p model.Protocol, port uint16, live bool) {
	pl := &ps.table[i]
	if pl.retired {
		pl.count--
		return
	}
	ps.tally[pl.use()]--
	ps.levels[level(pl.count)].remove(pl.slot)
	ps.keys[keyOf(p, port)].remove(pl.slot)
	if half(p, port) {
		ps.halves--
	}
	pl.count--
	pl.weigh(p, port, live, -1)
	if pl.count == 0 {
		ps.spare.add(pl.slot)
		pl.slot = -1
		ps.release(i)
	} else {
		ps.levels[level(pl.count)].add(pl.slot)
	}
	ps.tally[pl.use()]++
}

// rest turns a live entry of the place into a quarantined one.
func (ps *places) rest(i int32, p model.Protocol, port uint16) {
	pl := &ps.table[i]
	if pl.retired {
		return
	}
	ps.tally[pl.use()]--
	pl.weigh(p, port, true, -1)
	ps.tally[pl.use()]++
}

func (pl *place) weigh(p model.Protocol, port uint16, live bool, by int32) {
	if !live {
		return
	}
	pl.live += by
	if exclusive(p, port) {
		pl.whole += by
	}
}

func level(count int32) int32 { return min(count, topLevel) }

func half(p model.Protocol, port uint16) bool { return (p == model.AnyProtocol) != (port == 0) }
