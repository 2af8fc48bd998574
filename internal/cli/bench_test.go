package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/dut"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
	"github.com/realmgate/realmgate/internal/lab/bench/scenario"
)

// measured is a small report.
func measured() bench.Report {
	r := bench.Report{
		Schema: bench.Schema, Scenario: "nat44-establish", About: "new sessions", Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Command: "realmgate bench run nat44-establish", Devices: []string{"realmgate"}, Control: "null", Incomplete: "interrupted",
	}
	r.Results = []bench.Result{{
		DUT: "realmgate", Metric: "rate", Unit: bench.PerSecond, Summary: method.Summarise([]float64{1e6}), Trials: []bench.Trial{{Round: 1, Value: 1e6}},
	}}
	return r
}

func TestBenchList(t *testing.T) {
	r := execute(t.Context(), "bench", "list", "-o", "json")
	var list benchList
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || r.code != exitOK || r.stderr != "" {
		t.Fatalf("%v: %+v", err, r)
	}
	text := execute(t.Context(), "bench", "list").stdout
	if len(list.Scenarios) != len(scenario.All()) || len(list.Devices) != len(dut.All()) {
		t.Errorf("%+v", list)
	}
	for _, s := range list.Scenarios {
		if !strings.Contains(text, s.Name+" ") || s.About == "" || len(s.Devices) == 0 {
			t.Errorf("%+v is not told well", s)
		}
	}
	for _, d := range list.Devices {
		if !strings.Contains(text, d.Name+" ") || d.About == "" || d.Tools == nil {
			t.Errorf("%+v is not told well", d)
		}
	}
}

// An incomplete report is printed and written all the same.
func TestShowReport(t *testing.T) {
	for _, c := range []struct {
		json bool
		want string
	}{{false, "INCOMPLETE: interrupted."}, {true, `"incomplete": "interrupted"`}} {
		var stdout, stderr strings.Builder
		folder := filepath.Join(t.TempDir(), "out")
		if err := newApp(&stdout, &stderr).showReport(measured(), folder, c.json); err != nil || stderr.Len() > 0 {
			t.Fatal(err, &stderr)
		}
		if !strings.Contains(stdout.String(), c.want) || json.Valid([]byte(stdout.String())) != c.json {
			t.Errorf("%s lacks %s", &stdout, c.want)
		}
		if r, err := report.Read(filepath.Join(folder, "result.json")); err != nil || r.Incomplete != "interrupted" {
			t.Error(err, r.Incomplete)
		}
	}
	var stdout strings.Builder
	none := measured()
	none.Results = nil
	if err := newApp(&stdout, &stdout).showReport(none, filepath.Join(t.TempDir(), "out"), false); err != nil || stdout.Len() > 0 {
		t.Errorf("a report of nothing: %v, %s", err, &stdout)
	}
}

func TestBenchCompare(t *testing.T) {
	folder := t.TempDir()
	if err := report.Write(folder, measured()); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(folder, "result.json")
	r := execute(t.Context(), "bench", "compare", good, good)
	if r.code != exitOK || r.stderr != "" || !strings.Contains(r.stdout, "realmgate") || strings.Contains(r.stdout, "WARNING") {
		t.Errorf("%+v", r)
	}
	empty := filepath.Join(folder, "empty.json")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	csv := filepath.Join(folder, "result.csv")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{good + " " + empty, 1, empty + " is empty: give the result.json of realmgate bench run --out"},
		{csv + " " + good, 1, csv + " is no report: give the result.json of realmgate bench run --out"},
		{good, 2, "give the second result.json (see: realmgate bench compare --help)"},
		{good + " " + good + " x", 2, `realmgate bench compare takes no argument after that, and got "x" (see: realmgate bench compare --help)`},
	} {
		r := execute(t.Context(), append([]string{"bench", "compare"}, strings.Fields(c.args)...)...)
		if r.code != c.code || r.stderr != "realmgate: "+c.want+"\n" || r.stdout != "" {
			t.Errorf("%s: %+v, want %s", c.args, r, c.want)
		}
	}
}
