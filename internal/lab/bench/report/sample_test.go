package report

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// sample is a report with everything in it: a comparison, a sweep, invalid trials,
// what was not measured, curves, and text that wants escaping.
func sample() bench.Report {
	r := bench.Report{
		Schema: bench.Schema, Scenario: "sample", About: "everything that a report can hold",
		Command: `realmgate bench run sample --note "<a> & b"`, Started: time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC), Seconds: 83.2,
		Devices: []string{"realmgate", "iptables"}, Control: "null",
		Options:     map[string]string{"set-up": "self-clocked", "sessions": "100000", "repeat": "5"},
		Environment: bench.Environment{Tool: "v1", Kernel: "6.18.0", CPU: "Some CPU <X>", CPUs: 2, Virtual: true, MemoryBytes: 24e9, Settings: map[string]string{"/proc/sys/a": "1"}, Mitigations: map[string]string{"spectre": "some"}},
		Notes:       []string{"not RFC compliant: tester and device share one machine and its memory; the links are virtual (veth)"},
	}
	chance := rand.New(rand.NewPCG(1, 2))
	add := func(dut, metric, unit string, value, spread float64, p map[string]float64) {
		result := bench.Result{DUT: dut, Metric: metric, Unit: unit, Parameters: p, Gates: map[string]bench.Gate{"empty": {Passed: 5}}}
		var valid []float64
		for round := 1; round <= 5; round++ {
			v := math.Round(value * (1 + spread*(chance.Float64()-0.5)))
			result.Trials = append(result.Trials, bench.Trial{Round: round, Value: method.Number(v)})
			valid = append(valid, v)
		}
		result.Summary = method.Summarise(valid)
		r.Results = append(r.Results, result)
	}
	add("null", "rate", bench.PerSecond, 4.1e6, 0.2, nil)
	add("iptables", "rate", bench.PerSecond, 243_000, 0.3, nil)
	add("realmgate", "rate", bench.PerSecond, 1.18e6, 0.1, nil)
	add("iptables", "cost", "ns", 3870, 0.3, nil)
	add("realmgate", "cost", "ns", 603, 0.1, nil)
	r.Results[1].Trials[4] = bench.Trial{Round: 5, Value: 90_000, Invalid: "steal: 31 % of the CPU's time was stolen"}
	var valid []float64
	for _, t := range r.Results[1].Trials[:4] {
		valid = append(valid, float64(t.Value))
	}
	r.Results[1].Summary = method.Summarise(valid)
	r.Results[1].Gates["steal"] = bench.Gate{Passed: 4, Failed: 1, Detail: "31 % of the CPU's time was stolen"}
	for _, rules := range []float64{1, 16, 256, 4096, 65536} {
		p := map[string]float64{"rules": rules}
		add("realmgate", "rate_rules", bench.PerSecond, 1.1e6, 0.1, p)
		add("iptables", "rate_rules", bench.PerSecond, 9e5/(1+rules/40), 0.2, p)
	}
	empty := bench.Result{
		DUT: "iptables", Metric: "capacity", Unit: "sessions", Summary: method.Summarise(nil),
		Trials: []bench.Trial{{Round: 1, Value: method.Number(math.NaN()), Invalid: "counted: no <answer>"}}, Gates: map[string]bench.Gate{"counted": {Failed: 1, Detail: "no <answer>"}},
	}
	full := bench.Result{DUT: "realmgate", Metric: "capacity", Unit: "sessions", Summary: method.Summarise([]float64{1048576}), Trials: []bench.Trial{{Round: 1, Value: 1048576}}}
	r.Results = append(r.Results, empty, full)
	r.Ratios = []bench.Ratio{
		{Metric: "rate", DUT: "iptables", Baseline: "realmgate", Value: 0.206, Least: 0.19, Most: 0.27},
		{Metric: "cost", DUT: "iptables", Baseline: "realmgate", Value: 6.42, Least: 6.1, Most: 6.8},
		{Metric: "rate_rules", Parameters: map[string]float64{"rules": 65536}, DUT: "iptables", Baseline: "realmgate", Value: 0.0005, Least: 0.0004, Most: 0.0006},
		{Metric: "capacity", DUT: "iptables", Baseline: "realmgate", Value: method.Number(math.NaN()), Least: method.Number(math.Inf(1)), Most: method.Number(math.Inf(-1))},
	}
	r.Series = sampleSeries()
	return r
}

func sampleSeries() (list []bench.Series) {
	for i, dut := range []string{"realmgate", "iptables", "null"} {
		search := bench.Series{DUT: dut, Plot: "search trace", X: "step", Y: "rate, 1/s"}
		loss := bench.Series{DUT: dut, Plot: "loss over the rate", X: "offered rate, 1/s", Y: "lost, %"}
		cdf := bench.Series{DUT: dut, Plot: "latency", X: "latency, ns", Y: "share of the frames, %"}
		for step := range 14 {
			at := 1e6 / float64(i+1)
			search.Points = append(search.Points, [2]float64{float64(step + 1), at * (1 + math.Pow(-0.6, float64(step)))})
			loss.Points = append(loss.Points, [2]float64{float64(step+1) * 1e5, max(0, float64(step-4*(3-i))*7)})
		}
		for share := 0.0; share < 100; share += 0.5 {
			cdf.Points = append(cdf.Points, [2]float64{2000 * float64(i+1) * math.Exp(share*share*share/2.2e5), share})
		}
		cdf.Points = append(cdf.Points, [2]float64{math.NaN(), 100})
		list = append(list, search, loss, cdf)
	}
	return list
}
