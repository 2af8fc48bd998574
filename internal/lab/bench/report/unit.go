package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// scale writes values of one unit with the same prefix and the same decimals, so
// that they compare at a glance.
type scale struct {
	divisor  float64
	unit     string // with its prefix, as k/s
	decimals int
}

// step is a prefix: what a value is divided by from there on, and its name.
type step struct {
	divisor float64
	unit    string
}

var (
	perSecond = []step{{1, "/s"}, {1e3, "k/s"}, {1e6, "M/s"}, {1e9, "G/s"}}
	sizes     = []step{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}}
	bits      = []step{{1, "bit/s"}, {1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}}
	seconds   = []step{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}}
)

// unitSteps returns the prefixes of a unit, and what a value is multiplied by
// first. A unit without prefixes is written as it is.
func unitSteps(unit string) (steps []step, factor float64) {
	switch unit {
	case bench.PerSecond, "/s":
		return perSecond, 1
	case "bytes", "B", "byte", "octets":
		return sizes, 1
	case "bit/s":
		return bits, 1
	case "ns":
		return seconds, 1e-9
	case "us", "µs":
		return seconds, 1e-6
	case "ms":
		return seconds, 1e-3
	case "s":
		return seconds, 1
	}
	if strings.HasSuffix(unit, "/s") { // sessions/s
		return []step{{1, unit}, {1e3, "k " + unit}, {1e6, "M " + unit}}, 1
	}
	return []step{{1, unit}}, 1
}

// mostSpread is how far apart values may be and still share a prefix.
const mostSpread = 1000

// scalesFor returns a scale for each value: the same for all where they are near
// enough, else its own.
func scalesFor(unit string, values []float64) []scale {
	least, most := extremes(values)
	scales := make([]scale, len(values))
	for i, v := range values {
		if most/least <= mostSpread {
			v = least
		}
		scales[i] = scaleFor(unit, v)
		if allWhole(values) && scales[i].divisor == 1 {
			scales[i].decimals = 0
		}
	}
	return scales
}

// scaleFor returns the scale in which a value has about three digits.
func scaleFor(unit string, value float64) scale {
	steps, factor := unitSteps(unit)
	size := math.Abs(value) * factor
	s := scale{divisor: steps[0].divisor / factor, unit: steps[0].unit}
	for _, step := range steps[1:] {
		if size >= step.divisor*0.9995 {
			s.divisor, s.unit = step.divisor/factor, step.unit
		}
	}
	switch in := math.Abs(value) / s.divisor; {
	case in >= 99.95 || math.IsNaN(in) || math.IsInf(in, 0):
		s.decimals = 0
	case in >= 9.995:
		s.decimals = 1
	case in >= 0.9995 || in == 0:
		s.decimals = 2
	default:
		s.decimals = 3
	}
	return s
}

// number writes a value without its unit, "–" for what was not measured.
func (s scale) number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return thousands(strconv.FormatFloat(v/s.divisor, 'f', s.decimals, 64))
}

// text writes a value with its unit.
func (s scale) text(v float64) string {
	n := s.number(v)
	if n == "–" || s.unit == "" {
		return n
	}
	return n + " " + s.unit
}

// thousands sets the digits before the point apart: 1,234,567.8.
func thousands(digits string) string {
	whole, rest, point := strings.Cut(digits, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "−", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	return sign + whole
}

// extremes are the least and the greatest size of what is neither zero nor
// missing; 1 and 1 where there is nothing.
func extremes(values []float64) (least, most float64) {
	least, most = math.Inf(1), 0
	for _, v := range values {
		if size := math.Abs(v); size > 0 && finite(v) {
			least, most = min(least, size), max(most, size)
		}
	}
	if most == 0 {
		return 1, 1
	}
	return least, most
}

func allWhole(values []float64) bool {
	for _, v := range values {
		if finite(v) && v != math.Trunc(v) {
			return false
		}
	}
	return true
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
