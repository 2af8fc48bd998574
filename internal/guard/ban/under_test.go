package ban

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawNear draws a prefix of one of a few addresses that have much in common.
func drawNear(t *rapid.T) netip.Prefix {
	low := byte(rapid.IntRange(0, 255).Draw(t, "low"))
	if rapid.Bool().Draw(t, "IPv4") {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, low}), rapid.SampledFrom([]int{0, 8, 23, 24, 25, 28, 31, 32}).Draw(t, "bits")).Masked()
	}
	a := netip.AddrFrom16([16]byte{0: 0xff, 1: 0xff, 7: low & 3, 15: low})
	return netip.PrefixFrom(a, rapid.SampledFrom([]int{0, 32, 60, 63, 64, 65, 100, 126, 128}).Draw(t, "bits")).Masked()
}

// What is found under prefixes is what a look at all bans finds, however they came and went.
func TestUnderIsAllThatPrefixesCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List
		for range rapid.IntRange(0, 100).Draw(t, "changes") {
			if p := drawNear(t); rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
				l.Remove([]netip.Prefix{p})
			} else {
				l.Put([]Ban{{Prefix: p}})
			}
		}
		asked := rapid.SliceOfN(rapid.Custom(drawNear), 1, 3).Draw(t, "asked")
		var want []netip.Prefix
		for q := range l.bans.All() {
			if slices.ContainsFunc(asked, func(p netip.Prefix) bool { return p.Bits() <= q.Bits() && p.Contains(q.Addr()) }) {
				want = append(want, q)
			}
		}
		got := l.Under(asked)
		slices.SortFunc(got, netip.Prefix.Compare)
		slices.SortFunc(want, netip.Prefix.Compare)
		if !slices.Equal(got, want) {
			t.Fatalf("under %v: %v, want %v", asked, got, want)
		}
	})
}
