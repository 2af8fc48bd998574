package datapath

import (
	"testing"
	"time"
)

// Now is never after what the programs read.
func TestNowIsTheProgramsTime(t *testing.T) {
	t.Parallel()
	for range 100_000 {
		before := monotonic()
		now := Now()
		if after := monotonic(); now > after || before.Sub(now) > time.Second {
			t.Fatalf("between %d and %d it is %d", before, after, now)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	b.Run("Now", func(b *testing.B) {
		for range b.N {
			Now()
		}
	})
	b.Run("monotonic", func(b *testing.B) {
		for range b.N {
			monotonic()
		}
	})
}
