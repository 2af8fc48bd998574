package bench

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// rates returns the rates that a preparation tries on a device, until nothing is lost.
func rates(known float64, lost func(rate float64) float64) (tried []float64, prepared bool) {
	for p := newPreparation(known, false); ; {
		tried = append(tried, p.rate)
		loss := lost(p.rate)
		if loss == 0 {
			return tried, true
		}
		if !p.slower(loss) {
			return tried, false
		}
	}
}

// A device that is only too slow is given its time, down to a rate that no device is.
func TestPreparationOfASlowDevice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Float64Range(leastRate, 1e6).Draw(t, "most")
		known := rapid.SampledFrom([]float64{0, 1000, 5e5}).Draw(t, "known")
		tried, prepared := rates(known, func(rate float64) float64 { return max(0, 1-most/rate) })
		if !prepared {
			t.Fatalf("a device of %g/s is not prepared at %g", most, tried)
		}
	})
}

// One that loses some whatever the rate is not slowed down for ever.
func TestPreparationOfALossyDevice(t *testing.T) {
	t.Parallel()
	if tried, prepared := rates(0, func(float64) float64 { return 0.01 }); prepared || len(tried) != 1+sparedRates {
		t.Errorf("a device that loses 1 %% at any rate: prepared %t at %g", prepared, tried)
	}
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		tried, _ := rates(rapid.SampledFrom([]float64{0, 1000, 1e8}).Draw(t, "known"), func(float64) float64 { return 0.001 + random.Float64() })
		for _, rate := range tried {
			if rate < leastRate {
				t.Fatalf("rates %g", tried)
			}
		}
		if len(tried) > 20 {
			t.Fatalf("%d rates", len(tried))
		}
	})
}
