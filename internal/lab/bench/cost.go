package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// PerSecond is the unit of a rate.
const PerSecond = "1/s"

// addCosts gives every metric in frames or sessions per second its cost: each trial's
// over the null device's of the same round, its neighbour in time.
func (b *Bench) addCosts(c *collector) {
	for _, r := range slices.Clone(c.results) {
		null := c.find(b.Null.Name, r.Metric)
		if r.Unit != PerSecond || null == nil || r.DUT == b.Null.Name {
			continue
		}
		cost := c.result(r.DUT, Measure{Metric: costOf(r.Metric), Unit: "ns"})
		cost.Gates = maps.Clone(r.Gates)
		for _, t := range r.Trials {
			n, ok := null.round(t.Round)
			if !ok {
				t.Invalid = "the null device has no valid trial in this round"
			}
			t.Value = method.Number(method.Cost(float64(t.Value), n))
			cost.Trials = append(cost.Trials, t)
		}
		if cost.Unresolved = unresolved(cost.values(), null.values()); cost.Unresolved != "" {
			b.Note("%s of %s is unresolved, and in no ratio: %s", cost.Metric, strings.Join(append([]string{cost.DUT}, named(cost.Parameters)...), " "), cost.Unresolved)
		}
	}
}

// unresolved says why costs in ns cannot be told from nothing, or from the changes of
// the null device, whose rates are given; "" is that they can.
func unresolved(costs, nullRates []float64) string {
	if len(costs) == 0 {
		return ""
	}
	var times []float64
	for _, rate := range nullRates {
		times = append(times, 1e9/rate)
	}
	spread, cost := method.Rank(times, 0.99)-method.Rank(times, 0.01), method.Quantile(costs, 0.5)
	switch least := slices.Min(costs); {
	case cost <= spread:
		return fmt.Sprintf("it is %.1f ns, and the control's own time changes by %.1f ns", cost, spread)
	case least <= 0:
		return fmt.Sprintf("in a round it is %.1f ns, not above zero", least)
	}
	return ""
}

// named writes parameters, as rules=1024.
func named(parameters map[string]float64) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		list = append(list, fmt.Sprintf("%s=%g", name, parameters[name]))
	}
	return list
}

// costOf names the cost that belongs to a rate: rate → cost, rate_both → cost_both.
func costOf(metric string) string {
	const rate = "rate"
	if len(metric) >= len(rate) && metric[:len(rate)] == rate {
		return "cost" + metric[len(rate):]
	}
	return metric + "_cost"
}
