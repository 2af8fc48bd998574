package ban

import (
	"math"
	"time"
)

// Growth says how long bans last that the gateway makes itself.
type Growth struct {
	Factor float64       // 1 or more: each further offence makes the ban longer by it
	Cap    time.Duration // above 0: no ban lasts longer
	Memory time.Duration // above 0: an offence is forgotten for each such time without a new one
}

// Lasts is how long the ban of an nth offence lasts, n from 1 on: base, made longer by
// multiplier and by the factor for each offence before, and at most the cap.
func (g Growth) Lasts(base time.Duration, multiplier float64, n int) time.Duration {
	// What overflows becomes infinite, which is beyond the cap.
	grown := float64(base) * multiplier * math.Pow(g.Factor, float64(n-1))
	if grown >= float64(g.Cap) {
		return g.Cap
	}
	return max(1, time.Duration(grown))
}
