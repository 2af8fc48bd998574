package lists

import (
	"bytes"
	"net/netip"
	"slices"
)

// Range6 is a run of IPv6 addresses in network byte order, both ends included.
type Range6 struct{ First, Last [16]byte }

// Set6 is a set of IPv6 addresses. It does not change.
type Set6 struct{ ranges []Range6 }

// newSet6 makes the set of all addresses of the ranges, whose order it changes.
func newSet6(ranges []Range6) *Set6 {
	slices.SortFunc(ranges, func(a, b Range6) int { return bytes.Compare(a.First[:], b.First[:]) })
	merged := ranges[:0]
	for _, r := range ranges {
		if last := len(merged) - 1; last >= 0 && touches(merged[last].Last, r.First) {
			if bytes.Compare(r.Last[:], merged[last].Last[:]) > 0 {
				merged[last].Last = r.Last
			}
			continue
		}
		merged = append(merged, r)
	}
	return &Set6{slices.Clip(merged)}
}

// touches reports whether a range that begins at first leaves no gap behind one that
// ends at last and began no later.
func touches(last, first [16]byte) bool {
	if bytes.Compare(first[:], last[:]) <= 0 {
		return true
	}
	for i := len(last) - 1; i >= 0; i-- {
		if last[i]++; last[i] != 0 {
			break
		}
	}
	return last == first
}

// Ranges returns the runs of the set in rising order. Between two of them are
// addresses that are not in it.
func (s *Set6) Ranges() []Range6 { return s.ranges }

// Contains reports whether an IPv6 address is in the set. Its zone does not matter.
func (s *Set6) Contains(a netip.Addr) bool {
	n := a.As16()
	i, _ := slices.BinarySearchFunc(s.ranges, n, func(have Range6, n [16]byte) int { return bytes.Compare(have.Last[:], n[:]) })
	return i < len(s.ranges) && bytes.Compare(s.ranges[i].First[:], n[:]) <= 0
}
