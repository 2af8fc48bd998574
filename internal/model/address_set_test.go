package model

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set has the addresses of its ranges and no other, in runs that neither overlap nor
// touch.
func TestAddressSet(t *testing.T) {
	edge := rapid.SampledFrom([]uint32{0, 1, 2, 3, 4, 5, 6, 100, math.MaxUint32 - 2, math.MaxUint32 - 1, math.MaxUint32})
	rapid.Check(t, func(t *rapid.T) {
		ranges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) AddressRange {
			a, b := edge.Draw(t, "a"), edge.Draw(t, "b")
			return AddressRange{min(a, b), max(a, b)}
		}), 0, 6).Draw(t, "ranges")
		given := slices.Clone(ranges)
		s := NewAddressSet(ranges)
		for i, r := range s.Ranges() {
			if r.Last < r.First || i > 0 && uint64(r.First) <= uint64(s.Ranges()[i-1].Last)+1 {
				t.Fatalf("%v became %v", given, s.Ranges())
			}
		}
		n := edge.Draw(t, "number")
		within := func(r AddressRange) bool { return r.First <= n && n <= r.Last }
		if want := slices.ContainsFunc(given, within); s.Meets(AddressRange{n, n}) != want {
			t.Fatalf("%d in %v: want %v", n, given, want)
		}
		other := AddressRange{n, max(n, edge.Draw(t, "end"))}
		overlaps := func(r AddressRange) bool { return r.First <= other.Last && other.First <= r.Last }
		if want := slices.ContainsFunc(given, overlaps); s.Meets(other) != want {
			t.Fatalf("%v meets %v: want %v", given, other, want)
		}
	})
}
