package reproduce

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

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
	return of(e.result(job, dut, metric, where))
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

// apart says why rounds of two results of a job do not belong together: only points of
// one sweep take turns within each.
func apart(a, b bench.Result) string {
	if maps.Equal(a.Parameters, b.Parameters) || a.Sweep > 0 && a.Sweep == b.Sweep {
		return ""
	}
	return "these points took no turns"
}

// paired is a ÷ b, round by round: what disturbs a round is in both. ok is false
// where they have no round in common, or nothing above zero to divide by.
func paired(a, b bench.Result) (q figure, ok bool) {
	if why := apart(a, b); why != "" {
		return figure{why: why}, true
	}
	values, by := rounds(a), rounds(b)
	var ratios []float64
	for _, round := range slices.Sorted(maps.Keys(values)) {
		if divisor, known := by[round]; known && divisor > 0 {
			ratios = append(ratios, values[round]/divisor)
		} else if known {
			return q, false
		}
	}
	s := method.Summarise(ratios)
	return figure{median: float64(s.Median), least: float64(s.P1), most: float64(s.P99), trials: len(ratios)}, len(ratios) > 0
}

// takes is what a takes by what b takes, two rates of one job: their costs in the same
// rounds, or in a report without costs their times. Rates have the tester's time in them,
// which draws their ratio to 1: they say nothing where a cost is unresolved.
func (e Evidence) takes(job string, a, b bench.Result) figure {
	if why := apart(a, b); why != "" {
		return figure{why: why}
	}
	ofA, haveA := e.cost(job, a)
	ofB, haveB := e.cost(job, b)
	if !haveA && !haveB {
		q := over(b, a)
		q.basis = "rate"
		return q
	}
	for _, side := range []struct {
		rate, cost bench.Result
		have       bool
	}{{a, ofA, haveA}, {b, ofB, haveB}} {
		if why := unresolved(side.cost); !side.have || why != "" {
			return figure{why: cmp.Or(why, fmt.Sprintf("%s of %s has no cost", side.rate.Metric, side.rate.DUT))}
		}
	}
	q := over(ofA, ofB)
	q.basis = "cost"
	return q
}

// over is a ÷ b in the same rounds, or of all where they have none in common.
func over(a, b bench.Result) figure {
	if q, ok := paired(a, b); ok {
		return q
	}
	return of(a).by(of(b))
}

// of is a result as it was measured.
func of(r bench.Result) figure {
	return figure{median: float64(r.Median), least: float64(r.P1), most: float64(r.P99), trials: len(rounds(r))}
}

// unresolved says why a cost cannot be told from nothing; "" is that it can.
func unresolved(cost bench.Result) string {
	switch {
	case cost.Unresolved != "":
		return fmt.Sprintf("%s of %s is unresolved: %s", cost.Metric, cost.DUT, cost.Unresolved)
	case !(cost.P1 > 0):
		return fmt.Sprintf("%s of %s is not above zero in every round", cost.Metric, cost.DUT)
	}
	return ""
}

// cost is what a rate costs beyond the control's. ok is false where the report has none.
func (e Evidence) cost(job string, rate bench.Result) (cost bench.Result, ok bool) {
	const word = "rate"
	if len(rate.Metric) < len(word) || rate.Metric[:len(word)] != word {
		return cost, false
	}
	for _, r := range e[job].Results {
		if r.DUT == rate.DUT && r.Metric == "cost"+rate.Metric[len(word):] && maps.Equal(r.Parameters, rate.Parameters) {
			return r, true
		}
	}
	return cost, false
}

// cheaper is how often the cost of device a device b has, in the same rounds. metric
// is the rate's. ok is false where a report has no costs above zero and above the control's spread.
func (e Evidence) cheaper(job, a, b, metric string, where at) (q figure, ok bool) {
	cost := "cost" + metric[len("rate"):]
	ours, have := e.find(job, a, cost, where)
	theirs, too := e.find(job, b, cost, where)
	if !have || !too || unresolved(ours)+unresolved(theirs) != "" {
		return q, false
	}
	return paired(theirs, ours)
}

// faster is how often the speed of device b device a has, by what they take.
func (e Evidence) faster(job, a, b, metric string, where at) figure {
	return e.takes(job, e.result(job, b, metric, where), e.result(job, a, metric, where))
}

// ratio is the metric of one device by that of another in the same rounds.
func (e Evidence) ratio(job, a, b, metric string, where at) figure {
	return over(e.result(job, a, metric, where), e.result(job, b, metric, where))
}

// swept returns a metric over a parameter, in its order.
func (e Evidence) swept(job, dut, metric, parameter string) []bench.Result {
	results := e.points(job, dut, metric, parameter)
	if len(results) < 2 {
		panic(absent(fmt.Sprintf("the report of %s has no %s of %s over %s", job, metric, dut, parameter)))
	}
	return results
}

// points are what there is of that.
func (e Evidence) points(job, dut, metric, parameter string) (results []bench.Result) {
	for _, r := range e[job].Results {
		if _, ok := r.Parameters[parameter]; ok && r.DUT == dut && r.Metric == metric && !math.IsNaN(float64(r.Median)) {
			results = append(results, r)
		}
	}
	slices.SortFunc(results, func(a, b bench.Result) int { return cmp.Compare(a.Parameters[parameter], b.Parameters[parameter]) })
	return results
}

// curve is a rate over a parameter.
type curve struct {
	e              Evidence
	job, parameter string
	points         []bench.Result
}

func (e Evidence) curve(job, dut, metric, parameter string) curve {
	return curve{e, job, parameter, e.swept(job, dut, metric, parameter)}
}

func (c curve) first() bench.Result { return c.points[0] }
func (c curve) last() bench.Result  { return c.points[len(c.points)-1] }

// x is where a point is.
func (c curve) x(r bench.Result) float64 { return r.Parameters[c.parameter] }

// near is the point next to a value of the parameter: what a machine can set is not
// always what was asked for.
func (c curve) near(x float64) bench.Result {
	return slices.MinFunc(c.points, func(a, b bench.Result) int {
		return cmp.Compare(math.Abs(math.Log(c.x(a)/x)), math.Abs(math.Log(c.x(b)/x)))
	})
}

// slower is by which factor a point takes more than one before it.
func (c curve) slower(from, to bench.Result) figure { return c.e.takes(c.job, to, from) }

// told is a metric of Realmgate's at the first and the last value of a parameter, by rules
// and by sets, and what becomes of its cost; a report may be without.
func (e Evidence) told(job, metric, parameter, unit string) string {
	text := ""
	for _, dut := range []string{"realmgate", "realmgate-set"} {
		points := e.points(job, dut, metric, parameter)
		if len(points) < 2 {
			continue
		}
		c := curve{e, job, parameter, points}
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%s %s to %s%s (%s times the cost)", map[string]string{"realmgate": "rules", "realmgate-set": "a set"}[dut],
			si(float64(c.first().Median)), si(float64(c.last().Median)), unit, c.fall())
	}
	if text == "" {
		return "not measured"
	}
	return text
}

// fall is that from the first to the last.
func (c curve) fall() figure { return c.slower(c.first(), c.last()) }

// rates is a metric over a parameter, as it was measured.
func (e Evidence) rates(job, dut, metric, parameter string) (points []figure) {
	for _, r := range e.swept(job, dut, metric, parameter) {
		f := e.figure(job, dut, metric, r.Parameters)
		f.x = r.Parameters[parameter]
		points = append(points, f)
	}
	return points
}

// ends writes the first and the last of a sweep.
func ends(points []figure) string {
	return si(points[0].median) + " to " + si(points[len(points)-1].median)
}

// reused is how often the speed of a device's new connections its known ones have,
// in the same trials.
func (e Evidence) reused(job, dut, metric string) figure {
	return e.takes(job, e.result(job, dut, metric, nil), e.result(job, dut, metric+"_reuse", nil))
}
