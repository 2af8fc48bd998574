package bench

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// A verdict is over the device that is the same without deciding, in the round next to
// it that has a valid trial, and in no ratio where that is not slower in each.
func TestVerdictIsOverTheDeviceWithout(t *testing.T) {
	b := &Bench{Options: optionsFor(2, idleModel("a"), idleModel("b"))}
	results := newCollector(nil)
	add := func(dut string, round int, rate float64, why string) {
		bed := newBed(b, idleModel(dut), nil)
		bed.Gates.begin()
		bed.Gates.Require("complete", why == "", "%s", why)
		results.add(bed, round,
			[]Measure{{Metric: "rate_alone", Unit: PerSecond, Value: rate}, {Metric: "loss", Unit: "%"}})
	}
	add("a", 1, 1e6, "")        // 1,000 ns
	add("a", 2, 8e5, "")        // 1,250 ns
	add("a open", 2, 2e6, "")   // 500 ns
	add("a open", 1, 1, "lost") // no valid trial
	add("b", 3, 1e6, "")
	add("c", 1, 4e6, "") // faster than what it is over
	b.addVerdicts(results, map[string]string{"a": "a open", "b": "nobody", "c": "a"})
	var got []method.Number
	for _, r := range results.results {
		if r.Metric != "verdict_alone" {
			continue
		}
		for _, trial := range r.Trials {
			got = append(got, trial.Value)
		}
		if unresolved := r.Unresolved != ""; unresolved != (r.DUT == "c") {
			t.Errorf("the verdict of %s is unresolved %t: %q", r.DUT, unresolved, r.Unresolved)
		}
	}
	if want := []method.Number{500, 750, -750}; !slices.Equal(got, want) {
		t.Errorf("the verdicts are %v ns, want %v", got, want)
	}
}
