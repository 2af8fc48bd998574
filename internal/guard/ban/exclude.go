package ban

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"
	"go4.org/netipx"

	"github.com/realmgate/realmgate/internal/model"
)

// MostExcluded bounds the prefixes that are exempt under bans of wider ones.
const MostExcluded = 1 << 20

// ExemptSet are addresses that no ban drops. It does not change.
type ExemptSet struct {
	sets []*model.AddressSet // an address is exempt that one of them has
	v6   bart.Lite           // all of them that are IPv6; none has another
}

// NewExemptSet makes the set of what any of some sets has.
func NewExemptSet(sets ...*model.AddressSet) *ExemptSet {
	s := &ExemptSet{sets: sets}
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
func (s *ExemptSet) Same(other *ExemptSet) bool {
	same := func(a, b *model.AddressSet) bool { return a == b || slices.Equal(a.Ranges(), b.Ranges()) }
	return s.v6.Equal(&other.v6) && slices.EqualFunc(s.sets, other.sets, same)
}

// Within returns the exempt prefixes of a prefix, and stops soon where there are more than
// most. It is the prefix itself where one of the sets has all of it.
func (s *ExemptSet) Within(p netip.Prefix, most int) (list []netip.Prefix) {
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

func (s *ExemptSet) within6(p netip.Prefix, most int) (list []netip.Prefix) {
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

// Exclusions is what of the bans is not in force, because it is exempt.
type Exclusions struct {
	Whole    map[netip.Prefix]bool // bans of which nothing is in force
	Part     map[netip.Prefix]bool // bans that leave out some prefixes
	Prefixes map[netip.Prefix]bool // the narrower prefixes that they leave out
	Over     []netip.Prefix        // of Whole: those that would need more than MostExcluded
}

// Exclude returns what of the bans is exempt.
func (l *List) Exclude(s *ExemptSet) Exclusions {
	c := Exclusions{map[netip.Prefix]bool{}, map[netip.Prefix]bool{}, map[netip.Prefix]bool{}, nil}
	for p := range l.bans.All() {
		room := MostExcluded - len(c.Prefixes)
		switch excluded := s.Within(p, room); {
		case len(excluded) == 0:
		case len(excluded) == 1 && excluded[0] == p:
			c.Whole[p] = true
		case len(excluded) > room:
			c.Whole[p] = true
			c.Over = append(c.Over, p)
		default:
			c.Part[p] = true
			for _, h := range excluded {
				c.Prefixes[h] = true
			}
		}
	}
	return c
}

// Touches reports whether any of the bans is exempt, whole or in part.
func (c Exclusions) Touches(prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return c.Whole[p] || c.Part[p] })
}

// Changes are the prefixes that a table of bans has otherwise with the next exclusions: those
// of bans that begin or end to be in force, and the prefixes to exclude, or not any more.
func (c Exclusions) Changes(next Exclusions) (begin, end, open, closed []netip.Prefix) {
	return missing(next.Whole, c.Whole), missing(c.Whole, next.Whole), missing(c.Prefixes, next.Prefixes), missing(next.Prefixes, c.Prefixes)
}

// missing are those of others that a set has not.
func missing(set, others map[netip.Prefix]bool) (list []netip.Prefix) {
	for p := range others {
		if !set[p] {
			list = append(list, p)
		}
	}
	return list
}
