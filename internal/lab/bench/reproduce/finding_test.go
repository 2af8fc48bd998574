package reproduce

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// Spreads of the trials to either side of their median.
const (
	narrow = 0.01
	wide   = 0.6
)

// reportOf makes a report out of results.
func reportOf(results ...[]bench.Result) bench.Report {
	return bench.Report{Control: "null", Results: slices.Concat(results...)}
}

// resultOf has three trials, or twelve where they are far apart: these then differ from
// round to round in another way than those of any other result.
func resultOf(dut, metric string, median, spread float64, parameters at) []bench.Result {
	r := bench.Result{DUT: dut, Metric: metric, Parameters: parameters, Sweep: 1}
	if math.IsNaN(median) {
		r.Summary = method.Summarise(nil)
		r.Trials = []bench.Trial{{Round: 1, Value: 5, Invalid: "complete: 3 of 7 lost"}}
		return []bench.Result{r}
	}
	values := []float64{median, median * (1 - spread), median * (1 + spread)}
	if spread > 0.05 {
		seed := fnv.New64()
		fmt.Fprint(seed, dut, metric, parameters)
		random := rand.New(rand.NewPCG(seed.Sum64(), 0))
		values = values[:0]
		for i := range 12 {
			values = append(values, median*(1+spread*float64(i%3-1)))
		}
		random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	}
	for i, v := range values {
		r.Trials = append(r.Trials, bench.Trial{Round: i + 1, Value: method.Number(v)})
	}
	r.Summary = method.Summarise(values)
	return []bench.Result{r}
}

// sweepOf has a result for each value of a parameter.
func sweepOf(dut, metric, parameter string, spread float64, points map[float64]float64) (results []bench.Result) {
	for x, median := range points {
		results = append(results, resultOf(dut, metric, median, spread, at{parameter: x})...)
	}
	return results
}

// once leaves the first trial alone.
func once(results []bench.Result) []bench.Result {
	for i, r := range results {
		results[i].Trials = r.Trials[:1]
		results[i].Summary = method.Summarise([]float64{float64(r.Trials[0].Value)})
	}
	return results
}

// judged is a case: what a finding is made of the evidence.
type judged struct {
	what     string
	evidence Evidence
	want     Holds
}

func check(t *testing.T, item string, cases []judged) {
	t.Helper()
	f := finding(t, item)
	for _, c := range cases {
		if v := f.Judged(c.evidence); v.Holds != c.want {
			t.Errorf("%s, %s: %+v, want %s", item, c.what, v, c.want)
		}
	}
}

// filterReport has ten rules leave so much of new and known connections.
func filterReport(fresh, known float64) Evidence {
	return Evidence{"filter": reportOf(
		resultOf("conntrack", "rate", 100, narrow, nil), resultOf("conntrack", "rate_reuse", 200, narrow, nil),
		resultOf("iptables", "rate", 100*fresh, narrow, nil), resultOf("iptables", "rate_reuse", 200*known, narrow, nil))}
}

func finding(t *testing.T, item string) Finding {
	t.Helper()
	for _, p := range Papers() {
		for _, f := range p.Findings {
			if f.Item == item {
				return f
			}
		}
	}
	t.Fatalf("no finding %q", item)
	return Finding{}
}

func TestFindingsAreJudgedByTheirReports(t *testing.T) {
	t.Parallel()
	check(t, "Figures 9, 10", []judged{
		{"the same", filterReport(0.97, 0.95), Yes},
		{"new ones halved", filterReport(0.5, 0.95), No},
		{"known ones halved", filterReport(0.97, 0.5), No},
		{"no report", Evidence{}, Unknown},
		{"an empty report", Evidence{"filter": reportOf()}, Unknown},
		{"nothing valid", filterReport(math.NaN(), 1), Unknown},
	})
}

// A report without a valid trial of a device is none, and its row says why.
func TestReportWithoutValidTrialIsMissing(t *testing.T) {
	t.Parallel()
	f := finding(t, "Figures 9, 10")
	e := Evidence{"filter": reportOf(resultOf("null", "rate", 9, narrow, nil), resultOf("iptables", "rate", math.NaN(), narrow, nil),
		[]bench.Result{{DUT: "model", Metric: "hits", Summary: method.Summarise([]float64{1})}})}
	if v := f.Judged(e); v.Holds != Unknown || !strings.Contains(v.Why, "filter (iptables, complete: 3 of 7 lost)") {
		t.Errorf("%+v", v)
	}
}

// Every finding is unknown without reports, says why, and has its row.
func TestPageWithoutReports(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	if err := Page(&page, Papers(), Evidence{}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, p := range Papers() {
		for _, f := range p.Findings {
			rows++
			if v := f.Judged(Evidence{}); v.Holds != Unknown || v.Why == "" {
				t.Errorf("%s: %+v", f.Item, v)
			}
		}
	}
	if n := strings.Count(page.String(), "**not measured**"); n != rows {
		t.Errorf("%d rows are not measured, want %d:\n%s", n, rows, &page)
	}
}

// Jobs of one name are one job.
func TestJobsAreNamedOnce(t *testing.T) {
	t.Parallel()
	jobs := map[string]Job{}
	for _, p := range Papers() {
		for _, f := range p.Findings {
			for _, job := range f.Needs {
				if before, known := jobs[job.Name]; known && before.Scenario != job.Scenario {
					t.Errorf("%s is %s and %s", job.Name, before.Scenario, job.Scenario)
				}
				jobs[job.Name] = job
			}
		}
	}
	for _, job := range summaryJobs {
		jobs[job.Name] = job
	}
	if n := len(Jobs(Papers())); n != len(jobs) {
		t.Errorf("%d jobs, want %d", n, len(jobs))
	}
}
