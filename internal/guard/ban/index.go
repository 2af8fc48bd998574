package ban

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// index tells what bans of narrower prefixes there are, without a look at all: a ban of a
// /24 or of a /64 comes often, and most often nothing in it is banned.
type index struct {
	counts [2][129]int // of bans, by family and length
	// narrow6 are the bans in each /64 that are narrower than it. Of IPv4 none is kept: all
	// that can be in a /24 is soon asked for.
	narrow6 map[netip.Prefix]map[netip.Prefix]bool
}

// family is the place of an address's family in counts.
func family(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 0
	}
	return 1
}

func isNarrow6(p netip.Prefix) bool { return !p.Addr().Is4() && p.Bits() > model.OffenderBits }

func (x *index) add(p netip.Prefix) {
	x.counts[family(p)][p.Bits()]++
	if !isNarrow6(p) {
		return
	}
	unit := model.OffenderOf(p.Addr())
	if x.narrow6 == nil {
		x.narrow6 = map[netip.Prefix]map[netip.Prefix]bool{}
	}
	if x.narrow6[unit] == nil {
		x.narrow6[unit] = map[netip.Prefix]bool{}
	}
	x.narrow6[unit][p] = true
}

func (x *index) remove(p netip.Prefix) {
	x.counts[family(p)][p.Bits()]--
	if !isNarrow6(p) {
		return
	}
	unit := model.OffenderOf(p.Addr())
	if delete(x.narrow6[unit], p); len(x.narrow6[unit]) == 0 {
		delete(x.narrow6, unit)
	}
}

// below is how many prefixes of the lengths that are banned are in a prefix, itself left
// out; more than most is told as that.
func (x *index) below(p netip.Prefix, most int) (n int) {
	for bits := p.Bits() + 1; bits <= p.Addr().BitLen(); bits++ {
		if x.counts[family(p)][bits] == 0 {
			continue
		}
		if bits-p.Bits() > 30 {
			return most + 1
		}
		if n += 1 << (bits - p.Bits()); n > most {
			return most + 1
		}
	}
	return n
}

// Under returns the bans of prefixes and of all narrower ones, each once.
func (l *List) Under(prefixes []netip.Prefix) (list []netip.Prefix) {
	var walk []netip.Prefix
	room := len(l.bans) // for questions: more take longer than a look at all bans
	found := map[netip.Prefix]bool{}
	find := func(p netip.Prefix) {
		if l.Has(p) && !found[p] {
			found[p] = true
			list = append(list, p)
		}
	}
	for _, p := range prefixes {
		find(p)
		switch n := l.index.below(p, room); {
		case n == 0:
		case !p.Addr().Is4() && p.Bits() >= model.OffenderBits:
			for q := range l.index.narrow6[model.OffenderOf(p.Addr())] {
				if p.Contains(q.Addr()) && q.Bits() > p.Bits() {
					find(q)
				}
			}
		case n > room:
			walk = append(walk, p)
		default:
			room -= n
			l.index.each(p, find)
		}
	}
	if len(walk) == 0 {
		return list
	}
	within := newSet(walk)
	for q := range l.bans {
		if within.covers(q) {
			find(q)
		}
	}
	return list
}

// each visits all prefixes in an IPv4 prefix, or in a wide IPv6 one, that have a length that
// is banned.
func (x *index) each(p netip.Prefix, visit func(netip.Prefix)) {
	for bits := p.Bits() + 1; bits <= p.Addr().BitLen(); bits++ {
		if x.counts[family(p)][bits] == 0 {
			continue
		}
		for a := p.Addr(); a.IsValid() && p.Contains(a); a = after(netip.PrefixFrom(a, bits)) {
			visit(netip.PrefixFrom(a, bits))
		}
	}
}

// after is the first address beyond a prefix; not valid where there is none.
func after(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for i := (p.Bits() - 1) / 8; i >= 0; i-- {
		step := byte(1)
		if i == (p.Bits()-1)/8 {
			step = 1 << (7 - (p.Bits()-1)%8)
		}
		if bytes[i] += step; bytes[i] >= step {
			a, _ := netip.AddrFromSlice(bytes)
			return a
		}
	}
	return netip.Addr{}
}

// set are prefixes, to tell what is in one of them.
type set struct {
	prefixes map[netip.Prefix]bool
	lengths  []int // of them
}

func newSet(prefixes []netip.Prefix) set {
	s := set{prefixes: make(map[netip.Prefix]bool, len(prefixes))}
	for _, p := range prefixes {
		s.prefixes[p.Masked()] = true
		if !slices.Contains(s.lengths, p.Bits()) {
			s.lengths = append(s.lengths, p.Bits())
		}
	}
	return s
}

// covers reports whether a prefix is one of them or in one.
func (s set) covers(p netip.Prefix) bool {
	return slices.ContainsFunc(s.lengths, func(bits int) bool {
		return bits <= p.Bits() && s.prefixes[netip.PrefixFrom(p.Addr(), bits).Masked()]
	})
}
