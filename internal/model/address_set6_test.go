package model

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set of both families has the addresses of its prefixes and no other, in runs that
// neither overlap nor touch, and is equal to what is made of its runs.
func TestAddressSetOfBothFamilies(t *testing.T) {
	address := rapid.Custom(func(t *rapid.T) netip.Addr {
		text := rapid.SampledFrom([]string{
			"::", "::1", "::2", "::ffff:0:1", "2001:db8::", "2001:db8::ff", "2001:db8:0:1::", "8000::", "ffff::", "0.0.0.0", "0.0.0.1", "128.0.0.0", "192.0.2.1", "255.255.255.255",
			"7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		}).Draw(t, "address")
		return netip.MustParseAddr(text)
	})
	prefix := rapid.Custom(func(t *rapid.T) netip.Prefix {
		a := address.Draw(t, "of")
		return netip.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, "bits")).Masked()
	})
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(prefix, 0, 8).Draw(t, "prefixes")
		var ranges, again Ranges
		for _, p := range given {
			ranges.Add(p)
		}
		s := ranges.Set()
		for i, r := range s.Ranges6() {
			first, last := netip.AddrFrom16(r.First), netip.AddrFrom16(r.Last)
			if last.Less(first) || i > 0 && !netip.AddrFrom16(s.Ranges6()[i-1].Last).Next().Less(first) {
				t.Fatalf("%v became %v", given, s.Ranges6())
			}
		}
		a, p := address.Draw(t, "asked"), prefix.Draw(t, "asked of")
		if want := slices.ContainsFunc(given, func(g netip.Prefix) bool { return g.Contains(a) }); s.Contains(a) != want {
			t.Fatalf("%s in %v: want %v", a, given, want)
		}
		if want := slices.ContainsFunc(given, p.Overlaps); s.MeetsPrefix(p) != want {
			t.Fatalf("%v meets %s: want %v", given, p, want)
		}
		again.AddSet(s)
		if other := again.Set(); !s.Equal(other) || s.Len() != other.Len() {
			t.Fatalf("%v became %v", s, other)
		}
	})
}
