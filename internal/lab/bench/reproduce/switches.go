package reproduce

import (
	"fmt"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
	"github.com/realmgate/realmgate/internal/lab/demo"
	"github.com/realmgate/realmgate/internal/lab/oncpu"
)

// Context switches, three metrics of the report: each over the least time, in µs, that the
// task had been on the CPU.
const (
	voluntary   = "switches_voluntary"
	involuntary = "switches_involuntary"
	swapper     = "switches_swapper" // from the idle task, by the kernel's name
)

var (
	tasks = []string{voluntary, involuntary}
	// cpudist of 2017 counted involuntary switches. Those from the idle task are such, and
	// were not left out before 2022.
	cpudist2017 = []string{involuntary, swapper}
)

// addSwitches adds the metrics of a way.
func addSwitches(rounds []demo.Round, of func(demo.Round) demo.Usage, add func(metric string, parameters map[string]float64, values ...float64)) {
	for _, kind := range []struct {
		metric string
		of     func(oncpu.Switches) oncpu.Histogram
	}{
		{voluntary, func(s oncpu.Switches) oncpu.Histogram { return s.Voluntary }},
		{involuntary, func(s oncpu.Switches) oncpu.Histogram { return s.Involuntary }},
		{swapper, func(s oncpu.Switches) oncpu.Histogram { return s.Idle }},
	} {
		for bucket := range oncpu.Buckets {
			var values []float64
			for _, round := range rounds {
				seen := of(round).OnCPU
				values = append(values, float64(kind.of(seen)[bucket])/seen.Seconds)
			}
			add(kind.metric, map[string]float64{"from": float64(oncpu.LowerBound(bucket).Microseconds())}, values...)
		}
	}
}

// histogram is switches a second, by bucket and round.
type histogram [oncpu.Buckets]map[int]float64

// switches are those of some kinds, of a device; way is "_idle" where it rests.
func (e Evidence) switches(dut, way string, kinds []string) (h histogram) {
	for _, kind := range kinds {
		for bucket := range h {
			if h[bucket] == nil {
				h[bucket] = map[int]float64{}
			}
			where := at{"from": float64(oncpu.LowerBound(bucket).Microseconds())}
			for round, value := range rounds(e.result(chaining.Name, dut, kind+way, where)) {
				h[bucket][round] += value
			}
		}
	}
	return h
}

// total is of all buckets.
func (h histogram) total() map[int]float64 {
	all := map[int]float64{}
	for _, bucket := range h {
		for round, value := range bucket {
			all[round] += value
		}
	}
	return all
}

// perSecond is switches a second by round as a result.
func perSecond(values map[int]float64) bench.Result {
	r := bench.Result{Unit: bench.PerSecond}
	var all []float64
	for round, value := range values {
		r.Trials = append(r.Trials, bench.Trial{Round: round, Value: method.Number(value)})
		all = append(all, value)
	}
	r.Summary = method.Summarise(all)
	return r
}

// mode is the bucket with the greatest median.
func (h histogram) mode() int {
	var medians []float64
	for _, bucket := range h {
		medians = append(medians, float64(perSecond(bucket).Median))
	}
	return slices.Index(medians, slices.Max(medians))
}

// modeIs is whether a bucket has most in each round, or in none.
func (h histogram) modeIs(bucket int) Holds {
	var is, other int
	for round, value := range h[bucket] {
		if slices.ContainsFunc(h[:], func(another map[int]float64) bool { return another[round] > value }) {
			other++
		} else {
			is++
		}
	}
	switch {
	case other == 0:
		return Yes
	case is == 0:
		return No
	}
	return Undecided
}

// span writes what a bucket has, as cpudist does.
func span(bucket int) string {
	return fmt.Sprintf("%d–%d", oncpu.LowerBound(bucket).Microseconds(), oncpu.LowerBound(bucket+1).Microseconds()-1)
}

func (h histogram) String() string {
	return fmt.Sprintf("%s switches a second, most often after %s µs", of(perSecond(h.total())), span(h.mode()))
}

func judgeSwitches(e Evidence) Verdict {
	if !switched(e) {
		panic(absent("the report has no context switches: it is older, or they could not be seen"))
	}
	const (
		hannas  = 11      // the bucket of 2,048 to 4,095 µs
		twice   = 2.0     // as many at work
		roughly = 4.0 / 3 // a third more or less than that
	)
	idle, work := e.switches("realmgate", "_idle", tasks), e.switches("realmgate", "", tasks)
	times := over(perSecond(work.total()), perSecond(idle.total()))
	old, oldWork := e.switches("realmgate", "_idle", cpudist2017), e.switches("realmgate", "", cpudist2017)
	half := times
	half.median, half.least, half.most = times.median/twice, times.least/twice, times.most/twice
	return Verdict{
		Holds:     together(idle.modeIs(hannas), work.modeIs(hannas), half.within(roughly)),
		Netfilter: "routing: " + e.switches("route", "", tasks).String(),
		Realmgate: fmt.Sprintf("%s; idle %s: %s times as many at work", work, idle, times.in("", tenths)),
		Why: fmt.Sprintf("sender, gateways and hosts are on this machine and wake each other. cpudist of 2017 counted only involuntary switches and those from the idle task: %s at work, and idle %s",
			oldWork, old),
	}
}

// switched reports whether there are switches to judge and to draw.
func switched(e Evidence) bool {
	_, ok := e.find(chaining.Name, "realmgate", voluntary, nil)
	return ok
}

// switchGroups are the switches of a bucket, idle and at work, from the first to the last
// bucket that has any.
func switchGroups(e Evidence) (groups []report.Group) {
	if !switched(e) {
		return nil
	}
	idle, work := e.switches("realmgate", "_idle", tasks), e.switches("realmgate", "", tasks)
	first, last := oncpu.Buckets, 0
	for bucket := range oncpu.Buckets {
		if perSecond(idle[bucket]).P99 > 0 || perSecond(work[bucket]).P99 > 0 {
			first, last = min(first, bucket), bucket
		}
	}
	for bucket := first; bucket <= last; bucket++ {
		rests, works := perSecond(idle[bucket]), perSecond(work[bucket])
		rests.DUT, works.DUT = "idle", "chains at work"
		groups = append(groups, report.Group{Name: span(bucket), Results: []bench.Result{rests, works}})
	}
	return groups
}
