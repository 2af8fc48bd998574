package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// With a command that ends its sessions, a box is measured as one of ours is.
func TestBenchExternalThatIsReset(t *testing.T) {
	b := newBox(t)
	b.masquerade(t)
	flush := "nsenter --net=/run/netns/" + b.gateway.Name() + " conntrack -F"
	for name, want := range map[string][]string{
		"nat44-establish": {"rate"},
		"nat44-teardown":  {"teardown", "teardown_time", "teardown_time_empty"},
		"nat44-capacity":  {"capacity"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, sessions := t.TempDir(), "500"
			if name == "nat44-teardown" {
				sessions = "20000" // so that to end them takes longer than to start a program
			}
			m := b.measures(t, name, "--external", "in0,out0", "--reset", flush, "--sessions", sessions, "--repeat", "1", "--search", "strict", "--out", folder)
			m.start(t)
			m.mustMeasure(t)
			text, err := os.ReadFile(filepath.Join(folder, "result.json"))
			var report bench.Report
			must(t, err, json.Unmarshal(text, &report))
			var metrics []string
			for _, r := range report.Results {
				if metrics = append(metrics, r.Metric); !(r.Trials[0].Value > 0) {
					t.Errorf("%+v", r)
				}
			}
			if got := strings.Join(metrics, " "); got != strings.Join(want, " ") {
				t.Errorf("metrics %s", got)
			}
		})
	}
}

// A command that empties nothing is found out before anything is measured.
func TestBenchExternalThatIsNotReset(t *testing.T) {
	b := newBox(t)
	b.masquerade(t)
	b.measures(t, "nat44-teardown", "--external", "in0,out0", "--reset", "true", "--sessions", "500").mustFail(t,
		`of 500 sessions of the box 500 are still there after "true": give another --reset`)
	b.measures(t, "nat44-teardown", "--external", "in0,out0", "--reset", "echo no such box; false", "--sessions", "500").mustFail(t,
		"reset external: echo no such box; false: exit status 1: no such box")
}

// What a box loses at a rate is told without emptying it.
func TestBenchExternalLoss(t *testing.T) {
	b := newBox(t)
	b.rules(t, "wan", "ip protocol udp numgen inc mod 97 0 drop")
	b.measures(t, "nat44-loss", "--external", "in0,out0", "--sessions", "500").mustFail(t,
		"nothing beside the box says what the tester can send: give the full load with --rate")
	folder := t.TempDir()
	m := b.measures(t, "nat44-loss", "--external", "in0,out0", "--sessions", "500", "--rate", "20000", "--repeat", "1", "--direction", "forward", "--out", folder)
	m.start(t)
	m.mustMeasure(t)
	text, err := os.ReadFile(filepath.Join(folder, "result.json"))
	var report bench.Report
	must(t, err, json.Unmarshal(text, &report))
	if len(report.Results) != 10 {
		t.Fatalf("%d loads: %s", len(report.Results), text)
	}
	least := 100.0
	for _, r := range report.Results {
		loss := float64(r.Trials[0].Value)
		if loss < 0.9 {
			t.Errorf("at %g %%: %g %% lost of 1 in 97", r.Parameters["percent"], loss)
		}
		least = min(least, loss)
	}
	if least > 1.2 { // a busy machine loses some, too, but not at every load
		t.Errorf("at least %g %% lost of 1 in 97", least)
	}
}
