package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// trialsOf is a result of trials, all of which are valid or none is.
func trialsOf(dut, metric, unit, invalid string, values ...float64) bench.Result {
	r := bench.Result{DUT: dut, Metric: metric, Unit: unit, Summary: method.Summarise(values), Gates: map[string]bench.Gate{}}
	for i, v := range values {
		r.Trials = append(r.Trials, bench.Trial{Round: i + 1, Value: method.Number(v), Invalid: invalid})
	}
	if gate, why, _ := strings.Cut(invalid, ": "); invalid != "" {
		r.Summary, r.Gates[gate] = method.Summarise(nil), bench.Gate{Failed: len(values), Detail: why}
	}
	return r
}

// long is a report of metrics that are families, whose tables are long.
func long() bench.Report {
	r := bench.Report{Schema: bench.Schema, Scenario: "long", About: "many rows", Devices: []string{"realmgate", "iptables"}, Control: "null"}
	for i, target := range []string{"accept", "mark", "dnat", "snat", "snat_dnat"} {
		for j, dut := range []string{"null", "iptables", "realmgate"} {
			first := float64(1000 * (10*(j+1) - i))
			r.Results = append(r.Results, trialsOf(dut, "rate_"+target, bench.PerSecond, "", first, 1.1*first),
				trialsOf(dut, "rate_"+target+"_reuse", bench.PerSecond, "", 2*first, 2.2*first))
		}
	}
	for percent := 100; percent > 0; percent -= 10 {
		for j, dut := range []string{"realmgate", "iptables"} {
			loss := trialsOf(dut, "loss", "%", "", float64(percent*j)/4, float64(percent*j)/3)
			loss.Parameters = map[string]float64{"percent": float64(percent)}
			r.Results = append(r.Results, loss)
		}
	}
	r.Results = append(r.Results, trialsOf("external", "packets", bench.PerSecond, "generator: the tester reaches only 2500000/s, and the device passed", 2.4e6, 2.5e6))
	return r
}

// What belongs together is one table and one plot, medians come before long tables,
// and a long table of the page is folded.
func TestLongTables(t *testing.T) {
	var table bytes.Buffer
	if err := Table(&table, long(), 0); err != nil {
		t.Fatal(err)
	}
	golden(t, "table-long", table.String())
	page := pageOf(t, long())
	for _, want := range []string{
		"<details><summary>The figures of loss: 20 rows</summary>", "<title>loss over percent", "share of the full load",
		"<title>rate_reuse: every trial", "snat_dnat iptables", "≥ 2.45", "external (at least)", "could not send faster",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(pageOf(t, sample()), "The figures of") {
		t.Error("a short table is folded")
	}
}

// What a model computes has no spread and no trials, and parameters that follow from
// another do not make lines of their own.
func TestComputed(t *testing.T) {
	r := bench.Report{Schema: bench.Schema, Scenario: "model"}
	for _, n := range []float64{1, 2, 4} {
		r.Results = append(r.Results, bench.Result{
			DUT: "model", Metric: "hits", Unit: "rules", Parameters: map[string]float64{"chains": n, "hits": 9 / n, "rules": 8 / n},
			Summary: method.Summarise([]float64{1000 / n}), Trials: []bench.Trial{}, Gates: map[string]bench.Gate{},
		})
	}
	c, swept := blocks(r)[0].scaling()
	if !swept || len(c.lines) != 1 || c.lines[0].name != "model" || len(c.lines[0].points) != 3 {
		t.Errorf("%v, %+v", swept, c)
	}
	var table bytes.Buffer
	if err := Table(&table, r, 0); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, r)
	if text := table.String(); strings.Contains(text, "P99") || strings.Contains(text, "0/0") || !strings.Contains(text, "VALUE") ||
		strings.Contains(page, "0 of 0") || strings.Contains(page, "Every trial of") {
		t.Errorf("it tells of trials:\n%s", text)
	}
}

// A metric of its own is no family: rate_rules alone, and rate_reuse beside rate.
func TestFamilies(t *testing.T) {
	names := func(metrics ...string) (list []string) {
		var r bench.Report
		for _, m := range metrics {
			r.Results = append(r.Results, trialsOf("a", m, bench.PerSecond, "", 1))
		}
		for _, b := range blocks(r) {
			list = append(list, b.metric)
		}
		return list
	}
	for want, metrics := range map[string][]string{
		"rate rate_reuse cost": {"rate", "rate_reuse", "cost"},
		"rate_rules cost":      {"rate_rules", "cost"},
		"rate rate_reuse":      {"rate_mark", "rate_mark_reuse", "rate_dnat", "rate_dnat_reuse"},
		"rate rate_a rate_b":   {"rate", "rate_a", "rate_b"},
	} {
		if got := strings.Join(names(metrics...), " "); got != want {
			t.Errorf("%q: %s, want %s", metrics, got, want)
		}
	}
}

// What is said of a change depends on how many trials show the spread.
func TestVerdict(t *testing.T) {
	result := func(values ...float64) *bench.Result {
		r := trialsOf("a", "rate", bench.PerSecond, "", values...)
		return &r
	}
	computed := func(value float64) *bench.Result {
		return &bench.Result{Summary: method.Summarise([]float64{value})}
	}
	none := trialsOf("a", "rate", bench.PerSecond, "steal: 9 %", 1)
	for _, c := range []struct {
		a, b *bench.Result
		want string
	}{
		{result(1, 2, 3), result(3, 4, 5), within}, {result(1, 2, 3), result(4, 5, 6), beyond},
		{result(1, 2), result(4, 5, 6), "too few trials to tell"}, {result(1, 4), result(3), within},
		{computed(1), computed(1), within}, {computed(1), computed(2), beyond},
		{&none, result(1), "no valid trial in A"}, {result(1), &none, "no valid trial in B"}, {&none, &none, "no valid trial"},
		{nil, result(1), "only in B"}, {result(1), nil, "only in A"},
	} {
		if got := (both{a: c.a, b: c.b}).verdict(); got != c.want {
			t.Errorf("%+v and %+v: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

func TestLowerBound(t *testing.T) {
	const limit = "generator: the tester reaches only 2/s, and the device passed"
	good := trialsOf("external", "rate", bench.PerSecond, limit, 1, 2)
	if bound, is := LowerBound(good); !is || bound.Median != 1.5 || bound.P99 != 2 {
		t.Errorf("%+v, %v", bound, is)
	}
	wrong := trialsOf("external", "rate", bench.PerSecond, limit, 1, 2)
	wrong.Gates["translated"] = bench.Gate{Failed: 1}
	mixed := trialsOf("external", "rate", bench.PerSecond, limit, 1, 2)
	mixed.Trials[0].Invalid = ""
	for name, r := range map[string]bench.Result{
		"another gate failed": wrong, "a trial is valid": mixed,
		"a time": trialsOf("external", "latency_median", "ns", limit, 1), "stolen": trialsOf("external", "rate", bench.PerSecond, "steal: 9 %", 1),
		"no trials": {Unit: bench.PerSecond},
	} {
		if _, is := LowerBound(r); is {
			t.Errorf("%s, and it is a bound", name)
		}
	}
}
