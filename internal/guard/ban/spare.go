package ban

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"
	"go4.org/netipx"

	"github.com/realmgate/realmgate/internal/model"
)

// MostHoles bounds the prefixes that are spared under bans of wider ones.
const MostHoles = 1 << 20

// Spared are addresses that no ban drops. It does not change.
type Spared struct {
	sets []*model.AddressSet // an address is spared that one of them has
	v6   bart.Lite           // all of them that are IPv6; none has another
}

// NewSpared makes the set of what any of some sets has.
func NewSpared(sets ...*model.AddressSet) *Spared {
	s := &Spared{sets: sets}
	var v6 []netip.Prefix
	for _, set := range sets {
		for _, r := range set.Ranges6() {
			v6 = netipx.IPRangeFrom(netip.AddrFrom16(r.First), netip.AddrFrom16(r.Last)).AppendPrefixes(v6)
		}
	}
	slices.SortFunc(v6, netip.Prefix.Compare)
	for _, p := range v6 {
		if !s.v6.LookupPrefix(p) { // a wider one comes before
			s.v6.Insert(p)
		}
	}
	return s
}

// Same reports whether both have the same addresses, as far as can be told at once: IPv4
// sets that are not the same one are compared by their runs.
func (s *Spared) Same(other *Spared) bool {
	same := func(a, b *model.AddressSet) bool { return a == b || slices.Equal(a.Ranges(), b.Ranges()) }
	return s.v6.Equal(&other.v6) && slices.EqualFunc(s.sets, other.sets, same)
}

// Within returns the spared prefixes of a prefix, and stops soon where there are more than
// most. It is the prefix itself where one of the sets has all of it.
func (s *Spared) Within(p netip.Prefix, most int) (list []netip.Prefix) {
	if !p.Addr().Is4() {
		return s.within6(p, most)
	}
	for _, set := range s.sets {
		list = within4(list, set.Ranges(), p, most)
		if len(list) > 0 && list[len(list)-1] == p {
			return list[len(list)-1:]
		}
	}
	return list
}

func within4(list []netip.Prefix, ranges []model.AddressRange, p netip.Prefix, most int) []netip.Prefix {
	all := model.RangeOf(p)
	i, _ := slices.BinarySearchFunc(ranges, all.First, func(r model.AddressRange, first uint32) int {
		if r.Last < first {
			return -1
		}
		return 1
	})
	for ; i < len(ranges) && ranges[i].First <= all.Last && len(list) <= most; i++ {
		first, last := max(ranges[i].First, all.First), min(ranges[i].Last, all.Last)
		list = netipx.IPRangeFrom(addressOf(first), addressOf(last)).AppendPrefixes(list)
	}
	return list
}

func addressOf(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}

func (s *Spared) within6(p netip.Prefix, most int) (list []netip.Prefix) {
	if s.v6.LookupPrefix(p) {
		return []netip.Prefix{p}
	}
	for q := range s.v6.Subnets(p) {
		if list = append(list, q); len(list) > most {
			break
		}
	}
	return list
}

// Cut is what of the bans is not in force, because it is spared.
type Cut struct {
	Whole map[netip.Prefix]bool // bans of which nothing is in force
	Part  map[netip.Prefix]bool // bans that leave out some of the holes
	Holes map[netip.Prefix]bool // the narrower prefixes that they leave out
	Over  []netip.Prefix        // of Whole: those that would need more than MostHoles
}

// Cut returns what of the bans is spared.
func (l *List) Cut(s *Spared) Cut {
	c := Cut{map[netip.Prefix]bool{}, map[netip.Prefix]bool{}, map[netip.Prefix]bool{}, nil}
	for p := range l.bans.All() {
		room := MostHoles - len(c.Holes)
		switch holes := s.Within(p, room); {
		case len(holes) == 0:
		case len(holes) == 1 && holes[0] == p:
			c.Whole[p] = true
		case len(holes) > room:
			c.Whole[p] = true
			c.Over = append(c.Over, p)
		default:
			c.Part[p] = true
			for _, h := range holes {
				c.Holes[h] = true
			}
		}
	}
	return c
}

// Touches reports whether any of the bans is spared, whole or in part.
func (c Cut) Touches(prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return c.Whole[p] || c.Part[p] })
}

// Changes are the prefixes that a table of bans has otherwise after the next cut: those
// of bans that begin or end to be in force, and the holes to make and to close.
func (c Cut) Changes(next Cut) (begin, end, open, closed []netip.Prefix) {
	for p := range c.Whole {
		if !next.Whole[p] {
			begin = append(begin, p)
		}
	}
	for p := range next.Whole {
		if !c.Whole[p] {
			end = append(end, p)
		}
	}
	for p := range next.Holes {
		if !c.Holes[p] {
			open = append(open, p)
		}
	}
	for p := range c.Holes {
		if !next.Holes[p] {
			closed = append(closed, p)
		}
	}
	return begin, end, open, closed
}
