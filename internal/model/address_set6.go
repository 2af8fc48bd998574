package model

import (
	"bytes"
	"net/netip"
	"slices"
)

// AddressRange6 is a run of IPv6 addresses in network byte order, both ends included.
type AddressRange6 struct{ First, Last [16]byte }

// RangeOf6 returns the addresses of an IPv6 prefix.
func RangeOf6(p netip.Prefix) AddressRange6 {
	first := p.Masked().Addr().As16()
	r := AddressRange6{first, first}
	for bit := p.Bits(); bit < 8*len(r.Last); bit += 8 - bit%8 {
		r.Last[bit/8] |= 0xff >> (bit % 8)
	}
	return r
}

// merged6 returns the runs that ranges make together, in rising order; it changes theirs.
func merged6(ranges []AddressRange6) []AddressRange6 {
	slices.SortFunc(ranges, func(a, b AddressRange6) int { return bytes.Compare(a.First[:], b.First[:]) })
	merged := ranges[:0]
	for _, r := range ranges {
		if last := len(merged) - 1; last >= 0 && touches6(merged[last].Last, r.First) {
			if bytes.Compare(r.Last[:], merged[last].Last[:]) > 0 {
				merged[last].Last = r.Last
			}
			continue
		}
		merged = append(merged, r)
	}
	return slices.Clip(merged)
}

// touches6 reports whether a range that begins at first leaves no gap behind one that
// ends at last and began no later.
func touches6(last, first [16]byte) bool {
	return bytes.Compare(first[:], last[:]) <= 0 || netip.AddrFrom16(last).Next() == netip.AddrFrom16(first)
}

// Ranges6 returns the runs of IPv6 addresses of the set in rising order. Between two of
// them are addresses that are not in it.
func (s *AddressSet) Ranges6() []AddressRange6 { return s.ranges6 }

// meets6 reports whether any address of the range is in the set.
func (s *AddressSet) meets6(r AddressRange6) bool {
	i, _ := slices.BinarySearchFunc(s.ranges6, r.First, func(have AddressRange6, first [16]byte) int { return bytes.Compare(have.Last[:], first[:]) })
	return i < len(s.ranges6) && bytes.Compare(s.ranges6[i].First[:], r.Last[:]) <= 0
}
