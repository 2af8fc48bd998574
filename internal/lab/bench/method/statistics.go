package method

import (
	"math"
	"slices"
)

// Summary says how trials spread. RFC 9693 asks for the median, with the 1st and
// 99th percentile as error bars.
type Summary struct {
	Median Number `json:"median"`
	P1     Number `json:"p1"`
	P99    Number `json:"p99"`
}

// Summarise returns the summary of values; all are NaN without any.
func Summarise(values []float64) Summary {
	return Summary{Median: Number(Quantile(values, 0.5)), P1: Number(Rank(values, 0.01)), P99: Number(Rank(values, 0.99))}
}

// Quantile returns the value below which a share of values lies, 0 to 1, between
// neighbours in proportion. It is NaN without values.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	place := share * float64(len(sorted)-1)
	below := int(place)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (place-float64(below))*(sorted[below+1]-sorted[below])
}

// Rank returns the least value that a share of values, 0 to 1, does not exceed: of
// fewer than a hundred the 1st percentile is the least, and the 99th the greatest. It
// is NaN without values.
func Rank(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(max(int(math.Ceil(share*float64(len(sorted))))-1, 0), len(sorted)-1)]
}

// Cost returns what a device adds to a packet, in ns, where everything runs on
// one CPU: the time per packet with it, minus that with the null device. rates
// are per second.
func Cost(rate, null float64) float64 { return 1e9/rate - 1e9/null }
