package model

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
)

// AddressRange is a run of IPv4 addresses as numbers, both ends included.
type AddressRange struct{ First, Last uint32 }

// RangeOf returns the addresses of an IPv4 prefix.
func RangeOf(p netip.Prefix) AddressRange {
	first := AddressNumber(p.Masked().Addr())
	return AddressRange{first, first | uint32(math.MaxUint32>>p.Bits())}
}

// AddressNumber returns an IPv4 address as a number.
func AddressNumber(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// AddressSet is a set of IPv4 addresses. It does not change.
type AddressSet struct{ ranges []AddressRange }

// NewAddressSet makes the set of all addresses of the ranges, whose order it changes.
func NewAddressSet(ranges []AddressRange) *AddressSet {
	slices.SortFunc(ranges, func(a, b AddressRange) int { return cmp.Compare(a.First, b.First) })
	merged := ranges[:0]
	for _, r := range ranges {
		if last := len(merged) - 1; last >= 0 && uint64(r.First) <= uint64(merged[last].Last)+1 {
			merged[last].Last = max(merged[last].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}
	return &AddressSet{slices.Clip(merged)}
}

// Ranges returns the runs of the set in rising order. Between two of them are
// addresses that are not in it.
func (s *AddressSet) Ranges() []AddressRange { return s.ranges }

// Meets reports whether any address of the range is in the set.
func (s *AddressSet) Meets(r AddressRange) bool {
	i, _ := slices.BinarySearchFunc(s.ranges, r.First, func(have AddressRange, first uint32) int { return cmp.Compare(have.Last, first) })
	return i < len(s.ranges) && s.ranges[i].First <= r.Last
}

// Contains reports whether an IPv4 address is in the set.
func (s *AddressSet) Contains(a netip.Addr) bool {
	n := AddressNumber(a)
	return s.Meets(AddressRange{n, n})
}
