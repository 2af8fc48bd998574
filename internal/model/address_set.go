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

// Ranges are runs of addresses of both families, in any order.
type Ranges struct {
	V4 []AddressRange
	V6 []AddressRange6
}

// Add adds the addresses of a prefix.
func (r *Ranges) Add(p netip.Prefix) {
	if p.Addr().Is4() {
		r.V4 = append(r.V4, RangeOf(p))
	} else {
		r.V6 = append(r.V6, RangeOf6(p))
	}
}

// AddSet adds the addresses of a set.
func (r *Ranges) AddSet(s *AddressSet) {
	r.V4, r.V6 = append(r.V4, s.ranges...), append(r.V6, s.ranges6...)
}

// Set makes the set of all addresses of the ranges, whose order it changes.
func (r *Ranges) Set() *AddressSet {
	s := NewAddressSet(r.V4)
	s.ranges6 = merged6(r.V6)
	return s
}

// AddressSet is a set of IPv4 and IPv6 addresses. It does not change.
type AddressSet struct {
	ranges  []AddressRange
	ranges6 []AddressRange6
}

// NewAddressSet makes the set of all addresses of IPv4 ranges, whose order it changes.
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
	return &AddressSet{ranges: slices.Clip(merged)}
}

// Ranges returns the runs of IPv4 addresses of the set in rising order. Between two of
// them are addresses that are not in it.
func (s *AddressSet) Ranges() []AddressRange { return s.ranges }

// Len returns how many runs of addresses the set has, of both families.
func (s *AddressSet) Len() int { return len(s.ranges) + len(s.ranges6) }

// Equal reports whether both sets have the same addresses.
func (s *AddressSet) Equal(other *AddressSet) bool {
	return slices.Equal(s.ranges, other.ranges) && slices.Equal(s.ranges6, other.ranges6)
}

// Meets reports whether any address of the range is in the set.
func (s *AddressSet) Meets(r AddressRange) bool {
	i, _ := slices.BinarySearchFunc(s.ranges, r.First, func(have AddressRange, first uint32) int { return cmp.Compare(have.Last, first) })
	return i < len(s.ranges) && s.ranges[i].First <= r.Last
}

// MeetsPrefix reports whether any address of the prefix is in the set.
func (s *AddressSet) MeetsPrefix(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return s.Meets(RangeOf(p))
	}
	return s.meets6(RangeOf6(p))
}

// Contains reports whether an address is in the set. The zone of an IPv6 address does not
// matter.
func (s *AddressSet) Contains(a netip.Addr) bool {
	return s.MeetsPrefix(netip.PrefixFrom(a.WithZone(""), a.BitLen()))
}
