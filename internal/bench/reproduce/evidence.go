package reproduce

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/realmgate/realmgate/internal/bench"
)

// at are the parameters that a result must have.
type at map[string]float64

// median returns the median of a device's metric in a job's report.
func (e Evidence) median(job, dut, metric string, where at) float64 {
	for _, r := range e[job].Results {
		if r.DUT == dut && r.Metric == metric && (len(where) == 0 || maps.Equal(r.Parameters, where)) && !math.IsNaN(float64(r.Median)) {
			return float64(r.Median)
		}
	}
	panic(absent(fmt.Sprintf("the report of %s has no valid %s of %s%s", job, metric, dut, where)))
}

// String writes the parameters for an error.
func (a at) String() string {
	text := ""
	for _, key := range slices.Sorted(maps.Keys(a)) {
		text += fmt.Sprintf(" %s=%g", key, a[key])
	}
	return text
}

// sweep returns the medians of a metric over a parameter, in its order.
func (e Evidence) sweep(job, dut, metric, parameter string) (points []point) {
	for _, r := range e[job].Results {
		x, ok := r.Parameters[parameter]
		if ok && r.DUT == dut && r.Metric == metric && !math.IsNaN(float64(r.Median)) {
			points = append(points, point{x, float64(r.Median)})
		}
	}
	if len(points) < 2 {
		panic(absent(fmt.Sprintf("the report of %s has no %s of %s over %s", job, metric, dut, parameter)))
	}
	slices.SortFunc(points, func(a, b point) int { return int(math.Copysign(1, a.x-b.x)) })
	return points
}

type point struct{ x, y float64 }

// fall returns by which factor the last is lower than the first.
func fall(points []point) float64 { return points[0].y / points[len(points)-1].y }

// si writes three digits with k or M.
func si(v float64) string {
	switch {
	case math.Abs(v) >= 999.5e3:
		return fmt.Sprintf("%.3gM", v/1e6)
	case math.Abs(v) >= 999.5:
		return fmt.Sprintf("%.3gk", v/1e3)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// holds is Yes or No.
func holds(yes bool) Holds {
	if yes {
		return Yes
	}
	return No
}

// environment is that of any report: all were made on one machine.
func (e Evidence) environment() (env bench.Environment, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		return e[name].Environment, true
	}
	return env, false
}

// between is a sweep over the points from one to another.
func (e Evidence) between(job, dut, metric, parameter string, from, to float64) (some []point) {
	for _, p := range e.sweep(job, dut, metric, parameter) {
		if p.x >= from && p.x <= to {
			some = append(some, p)
		}
	}
	if len(some) < 2 {
		panic(absent(fmt.Sprintf("the report of %s has no %s of %s for %s from %g to %g", job, metric, dut, parameter, from, to)))
	}
	return some
}

// ends writes the first and the last of a sweep.
func ends(points []point) string { return si(points[0].y) + " to " + si(points[len(points)-1].y) }
