package pool

import (
	"math/bits"
	"net/netip"
)

// lookLimit bounds the places that one search looks at one by one.
const lookLimit = 512

// finder looks for places.
type finder struct {
	*bindings
	cursor  int32 // of the circular order
	dice    dice
	evicted evictions
	mark    uint64
	found   []int32
	taken   []taken
}

func newFinder(bs *bindings) *finder {
	return &finder{bindings: bs, dice: newDice(), evicted: evictions{map[uint32]*evicted{}, map[netip.Addr][]*evicted{}}}
}

// gentle finds a place that takes nothing from anybody, or -1.
func (f *finder) gentle(s *Service) int32 {
	i := f.gather(s)
	if i < 0 {
		i = f.unused(s)
	}
	if i < 0 {
		i = f.shared(s)
	}
	return i
}

// open reports whether a place may get the service as far as its address is concerned.
func (f *finder) open(i int32, s *Service) bool {
	pl := &f.places.table[i]
	if pl.retired || pl.rest != 0 {
		return false
	}
	return !f.blocked(i, s)
}

func (f *finder) blocked(i int32, s *Service) bool {
	if f.coalesces(i, s) {
		return true
	}
	if f.options.Blocked == nil {
		return false
	}
	for _, port := range s.Ports {
		if f.options.Blocked(f.places.table[i].address, port.Protocol, port.Port) {
			return true
		}
	}
	return false
}

func (f *finder) fits(i int32, s *Service) bool {
	return f.open(i, s) && len(f.clashes(i, s, -1, true)) == 0
}

// clashes returns the slots, except one, that the service cannot share the place with; first: one of them is enough. The
// result lasts until the next call.
func (f *finder) clashes(i int32, s *Service, except int32, first bool) []int32 {
	found := f.found[:0]
	defer func() { f.found = found }()
	f.mark++
	add := func(slot int32) {
		if r := &f.table[slot]; slot != except && r.marked != f.mark {
			r.marked = f.mark
			found = append(found, slot)
		}
	}
	look := func(k key, with func(slot int32) bool) {
		h, held := f.places.ports[portAt{i, k}]
		if !held {
			return
		}
		if h.bound >= 0 && with(h.bound) {
			add(h.bound)
		}
		for _, slot := range h.resting {
			if with(slot) {
				add(slot)
			}
		}
	}
	stranger := func(slot int32) bool { return f.table[slot].Service.identity() != s.identity() }
	notOurs := func(slot int32) bool { return f.table[slot].State == Bound || stranger(slot) }
	if s.All() {
		for slot := f.places.table[i].first; slot >= 0; slot = f.table[slot].next {
			if notOurs(slot) {
				add(slot)
			}
		}
		return found
	}
	look(0, notOurs)
	if s.web() {
		for _, k := range webKeys {
			look(k, stranger)
		}
	}
	for _, port := range s.Ports {
		if first && len(found) > 0 {
			break
		}
		look(keyOf(port), func(slot int32) bool {
			if notOurs(slot) {
				return true
			}
			// The same service may change where its port goes; another of the owner's waits for the rest.
			r := &f.table[slot]
			to, _ := r.Service.to(keyOf(port))
			return r.Service.Name != s.Name && to != port.To
		})
	}
	return found
}

// gather finds a place where the service's owner is already.
func (f *finder) gather(s *Service) int32 {
	list := f.places.owners[s.identity()]
	for _, o := range list[:min(len(list), lookLimit)] {
		if f.fits(o.place, s) {
			return o.place
		}
	}
	return -1
}

// unused finds a free place: one never used at random, or next in the circular order, else the one unused for longest.
func (f *finder) unused(s *Service) int32 {
	ps := f.places
	if n := len(ps.fresh); n > 0 && f.options.Order == Random {
		start := f.dice.below(n)
		for o := range n {
			if i := ps.fresh[(start+o)%n]; !f.blocked(i, s) {
				return i
			}
		}
	} else if n > 0 {
		i := ps.freshSet.next(f.cursor)
		for range n {
			if i < 0 {
				i = ps.freshSet.next(0)
			}
			if !f.blocked(i, s) {
				f.cursor = i + 1
				return i
			}
			i = ps.freshSet.next(i + 1)
		}
	}
	best := timer{entry: -1}
	if t, ok := ps.idle.first(); ok && f.blocked(t.entry, s) {
		for _, t := range ps.idle.heap {
			if (best.entry < 0 || t.at < best.at) && !f.blocked(t.entry, s) {
				best = t
			}
		}
	} else if ok {
		best = t
	}
	return best.entry
}

// shared finds a place among the listed ones on which nothing clashes. Ports that many places hold rule those out 64 at a
// time; what is left is looked at one by one, from somewhere.
func (f *finder) shared(s *Service) int32 {
	ps := f.places
	if s.All() || ps.listed == 0 {
		return -1 // it needs a free one
	}
	var blockers [8]bitset // more ports than that only rule out less
	n := 0
	full := func(k key) bool {
		on := ps.keys[k]
		if on == nil {
			return false
		}
		if on.many != nil && n < len(blockers) {
			blockers[n], n = on.many, n+1
		}
		return on.size == ps.listed
	}
	if full(0) || s.web() && full(webKey) {
		return -1
	}
	for _, port := range s.Ports {
		if !keyOf(port).web() && full(keyOf(port)) {
			return -1
		}
	}
	words := (ps.listed + 63) / 64
	start := f.dice.below(words)
	looked := 0
	for w := range words {
		w = (start + w) % words
		open := ^uint64(0)
		if last := ps.listed - w*64; last < 64 {
			open = 1<<last - 1
		}
		for _, b := range blockers[:n] {
			open &^= b.word(w)
		}
		for ; open != 0; open &= open - 1 {
			if i := int32(w<<6 + bits.TrailingZeros64(open)); f.fits(i, s) { // bounded by model.MaxPoolAddresses
				return i
			}
			if looked++; looked == lookLimit {
				return -1
			}
		}
	}
	return -1
}
