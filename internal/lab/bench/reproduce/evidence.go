package reproduce

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// Evidence is the reports that a finding needs, by the name of their job.
type Evidence map[string]bench.Report

// at are the parameters that a result must have; others it may have too.
type at map[string]float64

func (a at) match(parameters map[string]float64) bool {
	for key, value := range a {
		if have, ok := parameters[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// String writes the parameters for an error.
func (a at) String() string {
	text := ""
	for _, key := range slices.Sorted(maps.Keys(a)) {
		text += fmt.Sprintf(" %s=%g", key, a[key])
	}
	return text
}

// find returns a device's metric in a job's report, if that has a valid one.
func (e Evidence) find(job, dut, metric string, where at) (bench.Result, bool) {
	for _, r := range e[job].Results {
		if r.DUT == dut && r.Metric == metric && where.match(r.Parameters) && !math.IsNaN(float64(r.Median)) {
			return r, true
		}
	}
	return bench.Result{}, false
}

func (e Evidence) result(job, dut, metric string, where at) bench.Result {
	r, ok := e.find(job, dut, metric, where)
	if !ok {
		panic(absent(fmt.Sprintf("the report of %s has no valid %s of %s%s", job, metric, dut, where)))
	}
	return r
}

// figure returns a device's metric as it was measured.
func (e Evidence) figure(job, dut, metric string, where at) figure {
	r := e.result(job, dut, metric, where)
	return figure{median: float64(r.Median), least: float64(r.P1), most: float64(r.P99), trials: len(rounds(r))}
}

// median returns the median of that.
func (e Evidence) median(job, dut, metric string, where at) float64 {
	return float64(e.result(job, dut, metric, where).Median)
}

// rounds returns the valid value of each round.
func rounds(r bench.Result) map[int]float64 {
	values := map[int]float64{}
	for _, t := range r.Trials {
		if t.Invalid == "" {
			values[t.Round] = float64(t.Value)
		}
	}
	return values
}

// paired is a ÷ b, round by round: what disturbs a round is in both. ok is false
// where they have no round in common, or nothing above zero to divide by.
func paired(a, b bench.Result) (q figure, ok bool) {
	of, by := rounds(a), rounds(b)
	var ratios []float64
	for _, round := range slices.Sorted(maps.Keys(of)) {
		if divisor, known := by[round]; known && divisor > 0 {
			ratios = append(ratios, of[round]/divisor)
		} else if known {
			return q, false
		}
	}
	s := method.Summarise(ratios)
	return figure{median: float64(s.Median), least: float64(s.P1), most: float64(s.P99), trials: len(ratios)}, len(ratios) > 0
}

// relative is a rate by the control's in the same rounds: that of another point of a
// sweep was measured at another time, when the machine may have been slower. ok is
// false where the report has no control there.
func (e Evidence) relative(job string, r bench.Result) (q figure, ok bool) {
	for _, control := range e[job].Results {
		if control.DUT == e[job].Control && control.Metric == r.Metric && maps.Equal(control.Parameters, r.Parameters) {
			return paired(r, control)
		}
	}
	return q, false
}

// cheaper is how often the cost of device a device b has, in the same rounds. metric
// is the rate's. ok is false where a report has no costs above zero and above the control's spread.
func (e Evidence) cheaper(job, a, b, metric string, where at) (q figure, ok bool) {
	cost := "cost" + metric[len("rate"):]
	ours, have := e.find(job, a, cost, where)
	theirs, too := e.find(job, b, cost, where)
	if !have || !too || ours.Unresolved+theirs.Unresolved != "" || ours.P1 <= 0 || theirs.P1 <= 0 {
		return q, false
	}
	return paired(theirs, ours)
}

// faster is how often the speed of device b device a has: by their costs, or by their
// rates where a report has no costs above zero.
func (e Evidence) faster(job, a, b, metric string, where at) figure {
	if q, ok := e.cheaper(job, a, b, metric, where); ok {
		return q
	}
	return e.ratio(job, a, b, metric, where)
}

// ratio is the metric of one device by that of another in the same rounds.
func (e Evidence) ratio(job, a, b, metric string, where at) figure {
	if q, ok := paired(e.result(job, a, metric, where), e.result(job, b, metric, where)); ok {
		return q
	}
	return e.figure(job, a, metric, where).by(e.figure(job, b, metric, where))
}

// compared returns a metric at several places of a report, fit to be compared: by
// the control of each, if all have one, and else as they are.
func (e Evidence) compared(job string, results []bench.Result) (points []figure) {
	for _, r := range results {
		q, ok := e.relative(job, r)
		if !ok {
			points = nil
			break
		}
		points = append(points, q)
	}
	if points == nil {
		for _, r := range results {
			points = append(points, e.figure(job, r.DUT, r.Metric, r.Parameters))
		}
	}
	return points
}

// swept returns a metric over a parameter, in its order.
func (e Evidence) swept(job, dut, metric, parameter string) (results []bench.Result) {
	for _, r := range e[job].Results {
		if _, ok := r.Parameters[parameter]; ok && r.DUT == dut && r.Metric == metric && !math.IsNaN(float64(r.Median)) {
			results = append(results, r)
		}
	}
	if len(results) < 2 {
		panic(absent(fmt.Sprintf("the report of %s has no %s of %s over %s", job, metric, dut, parameter)))
	}
	slices.SortFunc(results, func(a, b bench.Result) int { return cmp.Compare(a.Parameters[parameter], b.Parameters[parameter]) })
	return results
}

// sweep is a metric over a parameter, its points fit to be compared.
func (e Evidence) sweep(job, dut, metric, parameter string) []figure {
	results := e.swept(job, dut, metric, parameter)
	points := e.compared(job, results)
	for i, r := range results {
		points[i].x = r.Parameters[parameter]
	}
	return points
}

// rates is a metric over a parameter, as it was measured.
func (e Evidence) rates(job, dut, metric, parameter string) (points []figure) {
	for _, r := range e.swept(job, dut, metric, parameter) {
		f := e.figure(job, dut, metric, r.Parameters)
		f.x = r.Parameters[parameter]
		points = append(points, f)
	}
	return points
}

// near is the point of a sweep next to a value of its parameter: what a machine can
// set is not always what was asked for.
func near(points []figure, x float64) figure {
	return slices.MinFunc(points, func(a, b figure) int {
		return cmp.Compare(math.Abs(math.Log(a.x/x)), math.Abs(math.Log(b.x/x)))
	})
}

// ends writes the first and the last of a sweep.
func ends(points []figure) string {
	return si(points[0].median) + " to " + si(points[len(points)-1].median)
}

// buckets is what conntrack's hash table had while a job's devices were up; 0 where
// the report does not say.
func (e Evidence) buckets(job string) (most int) {
	for _, tuning := range e[job].Tuning {
		if n, err := strconv.Atoi(tuning.Settings["/sys/module/nf_conntrack/parameters/hashsize"]); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// resultsAt returns a metric at given places, all of which must be there.
func (e Evidence) resultsAt(job, dut, metric string, places ...at) (results []bench.Result) {
	for _, where := range places {
		results = append(results, e.result(job, dut, metric, where))
	}
	return results
}

// reused is how often the speed of a device's new connections its known ones have,
// in the same trials.
func (e Evidence) reused(job, dut, metric string) figure {
	cost := "cost" + metric[len("rate"):]
	if fresh, ok := e.find(job, dut, cost, nil); ok {
		if known, ok := e.find(job, dut, cost+"_reuse", nil); ok && known.P1 > 0 {
			if q, ok := paired(fresh, known); ok {
				return q
			}
		}
	}
	return e.figure(job, dut, metric+"_reuse", nil).by(e.figure(job, dut, metric, nil))
}
