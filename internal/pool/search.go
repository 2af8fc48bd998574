package pool

import (
	"math/bits"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// examineLimit bounds the places that one request looks at one by one;
// restLimit the quarantines of its own host that it tries.
const (
	examineLimit = 4096
	restLimit    = 32
)

// find picks the place for a request, or -1. A service name goes to the most
// packed place that I1 allows, a host name only to a free one. When nothing
// else is left, places free themselves for those whom a quarantine does not
// concern: disjoint sources, and the host that it protects.
func (p *Pool) find(r *Request) int32 {
	i := int32(-1)
	switch {
	case exclusive(r.Protocol, r.Port):
	case half(r.Protocol, r.Port):
		i = p.examine(r, false)
	default:
		i = p.packed(r)
	}
	if i < 0 {
		i = p.unused(r)
	}
	if i < 0 && r.Source.IsValid() {
		i = p.examine(r, true)
	}
	if i < 0 {
		i = p.ownRest(r)
	}
	return i
}

func (p *Pool) blocked(i int32, r *Request) bool {
	return p.options.Blocked != nil && p.options.Blocked(p.places.table[i].address, r.Protocol, r.Port)
}

// packed finds the most packed place on which nothing overlaps a fully
// specified (protocol, port). It takes every other source for overlapping.
func (p *Pool) packed(r *Request) int32 {
	ps := p.places
	var blockers [4]bitset
	n, inUse := 0, len(ps.slots)-ps.spare.size
	block := func(k key) bool {
		h := ps.keys[k]
		if h == nil || h.size == 0 {
			return false
		}
		blockers[n], n = h.slots, n+1
		return h.size == inUse
	}
	if block(keyOf(r.Protocol, r.Port)) || block(keyOf(model.AnyProtocol, 0)) {
		return -1
	}
	if ps.halves > 0 && (block(keyOf(r.Protocol, 0)) || block(keyOf(model.AnyProtocol, r.Port))) {
		return -1
	}
	for l := topLevel; l > 0; l-- {
		s := &ps.levels[l]
		if s.size == 0 {
			continue
		}
		for v, summary := range s.words {
			for ; summary != 0; summary &= summary - 1 {
				w := v<<6 + bits.TrailingZeros64(summary)
				open := s.members[w]
				for _, b := range blockers[:n] {
					open &^= b.word(w)
				}
				for ; open != 0; open &= open - 1 {
					if i := ps.slots[w<<6+bits.TrailingZeros64(open)]; !p.blocked(i, r) {
						return i
					}
				}
			}
		}
	}
	return -1
}

// unused picks a free place, at random or next in the circular order.
func (p *Pool) unused(r *Request) int32 {
	ps := p.places
	if len(ps.free) == 0 {
		return -1
	}
	if p.options.Order == Circular {
		i := ps.freeSet.next(p.cursor)
		for range len(ps.free) {
			if i < 0 {
				i = ps.freeSet.next(0)
			}
			if !p.blocked(i, r) {
				return i
			}
			i = ps.freeSet.next(i + 1)
		}
		return -1
	}
	start := p.dice.below(len(ps.free))
	for n := range len(ps.free) {
		if i := ps.free[(start+n)%len(ps.free)]; !p.blocked(i, r) {
			return i
		}
	}
	return -1
}

// examine looks at places in use one by one, the most packed first. Under
// pressure a quarantine does not stop sources that are disjoint from its own.
func (p *Pool) examine(r *Request, pressure bool) int32 {
	left := examineLimit
	for l := topLevel; l > 0; l-- {
		s := &p.places.levels[l]
		for slot := s.next(0); slot >= 0; slot = s.next(slot + 1) {
			if i := p.places.slots[slot]; p.fits(i, r, pressure) && !p.blocked(i, r) {
				return i
			}
			if left--; left == 0 {
				return -1
			}
		}
	}
	return -1
}

// fits decides by every entry on the place whether the request may join them.
func (p *Pool) fits(i int32, r *Request, pressure bool) bool {
	for e := p.places.table[i].first; e >= 0; e = p.entries[e].next {
		o := &p.entries[e].Reservation
		if !overlap(r.Protocol, r.Port, o.Protocol, o.Port) {
			continue
		}
		disjoint := !intersect(r.Source, o.Source)
		if o.quarantined() {
			if o.Host == r.Host || pressure && disjoint {
				continue
			}
			return false
		}
		if !disjoint || o.Exclusive() || exclusive(r.Protocol, r.Port) {
			return false
		}
	}
	return true
}

// restKey finds the quarantines that a host may use again.
type restKey struct {
	host netip.Addr
	key  key
}

// ownRest looks for a quarantine of the request's own host and (protocol,
// port). Those it tries go to the end of the line.
func (p *Pool) ownRest(r *Request) int32 {
	k := restKey{r.Host, keyOf(r.Protocol, r.Port)}
	for range restLimit {
		e, ok := p.resting[k]
		if !ok {
			return -1
		}
		p.resting[k] = p.entries[e].nextRest
		i := p.entries[e].place
		if !p.places.table[i].retired && p.fits(i, r, false) && !p.blocked(i, r) {
			return i
		}
	}
	return -1
}
