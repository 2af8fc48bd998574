package multipath

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawBackends(t *rapid.T) []Backend {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Backend {
		address := rapid.Uint32Range(0x0a000001, 0x0a0000ff).Draw(t, "address")
		return Backend{
			To:   netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}),
			Port: rapid.SampledFrom([]uint16{0, 80, 8080}).Draw(t, "port"), Weight: rapid.IntRange(1, 100).Draw(t, "weight"),
		}
	}), 1, 8, func(b Backend) netip.AddrPort { return netip.AddrPortFrom(b.To, b.Port) }).Draw(t, "backends")
}

func drawUp(t *rapid.T, backends []Backend) []bool {
	return rapid.SliceOfN(rapid.Bool(), len(backends), len(backends)).Draw(t, "up")
}

// Backends that are up have their shares, within what chance does to so many lots; those
// that are down have nothing, and where none is up nobody has.
func TestSharesFollowWeights(t *testing.T) {
	t.Parallel()
	const deviations = 6 // one in a billion by chance
	rapid.Check(t, func(t *rapid.T) {
		backends := drawBackends(t)
		up := drawUp(t, backends)
		all, counts := 0, map[uint8]int{}
		for i, b := range backends {
			if up[i] {
				all += b.Weight
			}
		}
		for _, place := range spread(backends, up) {
			counts[place]++
		}
		for i, b := range backends {
			share := 0.0
			if up[i] {
				share = float64(b.Weight) / float64(all)
			}
			want := share * float64(lots)
			if bound := deviations * math.Sqrt(want*(1-share)); math.Abs(float64(counts[uint8(i)])-want) > bound {
				t.Fatalf("backend %d has %d lots, want %.0f within %.0f", i, counts[uint8(i)], want, bound)
			}
		}
		if (counts[nobody] > 0) != (all == 0) {
			t.Fatalf("%d lots are nobody's", counts[nobody])
		}
	})
}

// When one backend goes down only its flows move, and when it is back all is as it was;
// the order of the backends does not matter.
func TestOneBackendMovesOnlyItsFlows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		backends := drawBackends(t)
		up := drawUp(t, backends)
		gone := rapid.IntRange(0, len(backends)-1).Draw(t, "gone")
		up[gone] = true
		before := spread(backends, up)
		up[gone] = false
		after := spread(backends, up)
		for slot, place := range before {
			switch {
			case place == uint8(gone) && after[slot] == place:
				t.Fatalf("slot %d is still that of who is down", slot)
			case place != uint8(gone) && after[slot] != place:
				t.Fatalf("slot %d went from %d to %d, and %d is down", slot, place, after[slot], gone)
			}
		}
		up[gone] = true
		if !slices.Equal(before, spread(backends, up)) {
			t.Fatal("not as it was before")
		}
		turned, turnedUp := slices.Clone(backends), slices.Clone(up)
		slices.Reverse(turned)
		slices.Reverse(turnedUp)
		for slot, place := range spread(turned, turnedUp) {
			if int(place) != len(backends)-1-int(before[slot]) {
				t.Fatalf("in another order slot %d goes elsewhere", slot)
			}
		}
	})
}
