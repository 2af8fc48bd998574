package reproduce

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/method"
)

// reportOf makes a report out of medians.
func reportOf(results ...bench.Result) bench.Report { return bench.Report{Results: results} }

func resultOf(dut, metric string, median float64, parameters at) bench.Result {
	return bench.Result{DUT: dut, Metric: metric, Parameters: parameters, Summary: method.Summary{Median: method.Number(median)}}
}

// filterReport has ten rules leave so much of new and known connections.
func filterReport(fresh, known float64) Evidence {
	return Evidence{"filter": reportOf(
		resultOf("conntrack", "rate", 100, nil), resultOf("conntrack", "rate_reuse", 200, nil),
		resultOf("iptables", "rate", 100*fresh, nil), resultOf("iptables", "rate_reuse", 200*known, nil))}
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
	filtering := finding(t, "Figures 9, 10")
	for _, c := range []struct {
		what     string
		evidence Evidence
		want     Holds
	}{
		{"the same", filterReport(0.97, 0.95), Yes},
		{"new ones halved", filterReport(0.5, 0.95), No},
		{"known ones halved", filterReport(0.97, 0.5), No},
		{"no report", Evidence{}, Unknown},
		{"an empty report", Evidence{"filter": reportOf()}, Unknown},
		{"nothing valid", filterReport(math.NaN(), 1), Unknown},
	} {
		if v := filtering.Judged(c.evidence); v.Holds != c.want {
			t.Errorf("%s: %+v, want %s", c.what, v, c.want)
		}
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
	if n := len(Jobs(Papers())); n != len(jobs) {
		t.Errorf("%d jobs, want %d", n, len(jobs))
	}
}
