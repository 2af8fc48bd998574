package scenario

import (
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/dut"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/test/lab"
)

// ruleRuns are smoke runs of the scenarios about rules and settings of netfilter.
var ruleRuns = []struct {
	bench.Scenario
	devices []string // that take part, with "null"
	points  int      // of a sweep; 1 for a scenario without any
}{
	{routing, []string{"null", "route"}, 1},
	{flowCount, []string{"null", "route", "iptables"}, 2},
	{tracking, []string{"null", "route", "conntrack", "iptables", "nftables"}, 1},
	{filter, []string{"null", "route", "conntrack", "iptables", "nftables", "ipset", "realmgate"}, 1},
	{hashLoad, []string{"null", "iptables", "realmgate"}, 2},
	{targets, []string{"null", "iptables", "nftables", "realmgate"}, 1},
	{rulePosition, []string{"null", "iptables", "nftables", "nftables-set", "realmgate", "realmgate-set"}, 2},
	{ruleCount, []string{"null", "iptables", "nftables", "nftables-set", "ipset", "realmgate", "realmgate-set"}, 2},
	{ruleLoadTime, []string{"iptables", "iptables-nft", "nftables", "nftables-set", "ipset", "realmgate", "realmgate-set"}, 2},
	{ruleArrangement, []string{"null", "model", "iptables", "nftables", "nftables-set", "realmgate", "realmgate-set"}, 2},
	{markDNAT, []string{"null", "iptables", "nftables", "nftables-set", "realmgate"}, 2},
}

// A scenario that nobody runs here may have stopped working.
func TestEveryScenarioHasASmokeRun(t *testing.T) {
	t.Parallel()
	tried := []string{conntrackLimits.Name, replayCapture.Name} // TestConntrackLimits, TestReplay
	for _, run := range ruleRuns {
		tried = append(tried, run.Name)
	}
	for _, run := range programRuns {
		tried = append(tried, run.Name)
	}
	for _, run := range nat44Runs {
		tried = append(tried, run.Name)
	}
	for _, s := range All() {
		if !slices.Contains(tried, s.Name) {
			t.Errorf("no test runs %s", s.Name)
		}
	}
}

// Every scenario about rules with few sessions: all that was sent came, translated
// as it should be, and each device counts the sessions that it was sent.
func TestSmoke(t *testing.T) {
	program := buildProgram(t)
	for _, test := range ruleRuns {
		t.Run(test.Name, func(t *testing.T) {
			r, err := bench.Run(t.Context(), test.Scenario, smokeOptions(test.Scenario, program))
			if err != nil {
				t.Fatal(err)
			}
			checkDevices(t, r, test.devices)
			points := map[string]int{}
			for _, result := range r.Results {
				checkResult(t, result)
				points[result.DUT+", "+result.Metric]++
			}
			for what, n := range points {
				// So few sessions may be gone before one can tell.
				if n != test.points && what != "model, hits" && !strings.HasSuffix(what, ", teardown") {
					t.Errorf("%s has %d points, want %d", what, n, test.points)
				}
			}
			if len(r.Series) != 0 {
				t.Errorf("%d curves beside the results, of which the report draws its own", len(r.Series))
			}
		})
	}
}

// buildProgram skips the test without root.
func buildProgram(t *testing.T) (path string) {
	t.Helper()
	lab.New(t, "smoke")
	path = filepath.Join(t.TempDir(), "realmgate")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "github.com/realmgate/realmgate/cmd/realmgate")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v: %s", err, out)
	}
	return path
}

func smokeOptions(s bench.Scenario, program string) bench.Options {
	o := bench.Options{
		Sessions: 1000, Hosts: 1, Repeat: 1, Length: 64, Profile: bench.Quick, Direction: trafficgen.Both,
		CPU: runtime.NumCPU() - 1, Smoke: true, Executable: program,
	}
	if len(s.Modes) > 0 {
		o.Mode = s.Modes[0]
	}
	for _, m := range dut.All() {
		if m.Name == "null" {
			o.Null = m
		}
		if slices.Contains(s.Devices, m.Name) {
			o.Devices = append(o.Devices, m)
		}
	}
	return o
}

func checkDevices(t *testing.T, r bench.Report, want []string) {
	t.Helper()
	var got []string
	for _, result := range r.Results {
		if !slices.Contains(got, result.DUT) {
			got = append(got, result.DUT)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("results of %v, want %v; notes: %v", got, want, r.Notes)
	}
}

// stateless devices have no sessions to count.
var stateless = []string{"null", "route"}

func checkResult(t *testing.T, r bench.Result) {
	t.Helper()
	if r.DUT == "model" {
		return
	}
	if median := float64(r.Median); math.IsNaN(median) || median <= 0 && r.Unit != "ns" && r.Metric != "memory_growth" {
		t.Errorf("%s, %s: median %v of %v", r.DUT, r.Metric, r.Median, r.Trials)
	}
	for name, gate := range r.Gates {
		if gate.Failed > 0 && name != "steal" { // another trial was made then
			t.Errorf("%s, %s: %s failed %d times: %s", r.DUT, r.Metric, name, gate.Failed, gate.Detail)
		}
	}
	if r.Gates["complete"].Passed == 0 || r.Gates["translated"].Passed == 0 {
		t.Errorf("%s, %s: nobody looked whether all frames came as they should: %v", r.DUT, r.Metric, r.Gates)
	}
	_, arranged := r.Parameters["chains"]
	arranged = arranged && !strings.HasPrefix(r.DUT, "realmgate")
	_, untold := r.Parameters["flows"] // nobody tracks them
	untracked := slices.Contains(stateless, r.DUT) || arranged || untold || slices.Contains([]string{"rate_notrack", "rate_notrack_reuse", "cost_notrack", "cost_notrack_reuse"}, r.Metric)
	if counted := r.Gates["counted"].Passed > 0; counted == untracked {
		t.Errorf("%s, %s: counted its sessions %t: %v", r.DUT, r.Metric, counted, r.Gates)
	}
}

// The model needs no root and no device.
func TestModelOnly(t *testing.T) {
	t.Parallel()
	o := smokeOptions(ruleArrangement, "")
	o.ModelOnly = true
	r, err := bench.Run(t.Context(), ruleArrangement, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 12 || float64(r.Results[0].Median) != 2147581952 || float64(r.Results[11].Median) != 9142272 {
		t.Errorf("%d results: %+v", len(r.Results), r.Results)
	}
	if _, err := bench.Run(t.Context(), targets, o); err == nil {
		t.Error("a scenario without a model computed something")
	}
}
