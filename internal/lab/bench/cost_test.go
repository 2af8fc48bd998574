package bench

import (
	"strings"
	"testing"
)

func TestUnresolved(t *testing.T) {
	for _, c := range []struct {
		costs, nullRates []float64
		want             string
	}{
		{[]float64{100, 110, 120}, []float64{4e6, 4e6, 4.2e6}, ""},
		{[]float64{10, 11, 12}, []float64{4e6, 4e6, 5e6}, "it is 11.0 ns, and the control's own time changes by 50.0 ns"},
		{[]float64{-5, -6, -7}, []float64{4e6, 4e6, 4e6}, "it is -6.0 ns, and the control's own time changes by 0.0 ns"},
		{[]float64{100, 110, -1}, []float64{4e6, 4e6, 4.2e6}, "in a round it is -1.0 ns, not above zero"},
		{nil, nil, ""}, // no valid trial says so itself
	} {
		if got := unresolved(c.costs, c.nullRates); got != c.want {
			t.Errorf("%v over %v: %q, want %q", c.costs, c.nullRates, got, c.want)
		}
	}
}

// A cost is over the control of its own round, and an unresolved one, of a device or of
// the baseline, is in no ratio. Ratios of rates stand.
func TestFinishLeavesUnresolvedCostsOutOfRatios(t *testing.T) {
	const control, slow, slower, thin = "null", 1e6, 5e5, 3.99e6
	for _, c := range []struct {
		what       string
		rates      map[string]float64 // of devices, the first is a
		unresolved []string
		ratios     []string
	}{
		{"both resolved", map[string]float64{"a": slow, "b": slower}, nil, []string{"b rate", "b cost"}},
		{"a device is not", map[string]float64{"a": slow, "b": thin}, []string{"b cost"}, []string{"b rate"}},
		{"the baseline is not", map[string]float64{"a": thin, "b": slow}, []string{"a cost"}, []string{"b rate"}},
	} {
		b := &Bench{Options: optionsFor(2, idleModel("a"), idleModel("b"))}
		results := newCollector(map[string]float64{"rules": 1024})
		var beds []*Bed
		for _, name := range []string{control, "a", "b"} {
			bed := newBed(b, idleModel(name), nil)
			beds = append(beds, bed)
			for round, null := range map[int]float64{1: 4e6, 2: 4.1e6} {
				rate := c.rates[name]
				if name == control {
					rate = null
				}
				results.add(bed, round, []Measure{{Metric: "rate", Unit: PerSecond, Value: rate}})
			}
		}
		b.finish(Comparison{}, results, beds)
		var unresolved, ratios []string
		for _, r := range b.Report.Results {
			if r.Unresolved != "" {
				unresolved = append(unresolved, r.DUT+" "+r.Metric)
			}
			if r.Metric == "cost" && r.DUT == "a" && r.Trials[0].Round == 1 && c.rates["a"] == slow && r.Trials[0].Value != 750 {
				t.Errorf("%s: the cost in round 1 is %v", c.what, r.Trials[0].Value)
			}
		}
		for _, q := range b.Report.Ratios {
			ratios = append(ratios, q.DUT+" "+q.Metric)
		}
		if strings.Join(unresolved, ",") != strings.Join(c.unresolved, ",") || strings.Join(ratios, ",") != strings.Join(c.ratios, ",") {
			t.Errorf("%s: unresolved %q, ratios %q", c.what, unresolved, ratios)
		}
		if len(b.Report.Notes) != len(c.unresolved) || len(c.unresolved) > 0 && !strings.Contains(b.Report.Notes[0], " rules=1024 is unresolved") {
			t.Errorf("%s: notes %q", c.what, b.Report.Notes)
		}
	}
}
