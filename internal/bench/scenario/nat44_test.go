package scenario

import (
	"context"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/dut"
	"github.com/realmgate/realmgate/internal/bench/method"
	"github.com/realmgate/realmgate/internal/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab"
)

// smoke runs a scenario with small numbers over the devices, of those that it
// compares.
func smoke(t *testing.T, s bench.Scenario, mode bench.Mode, devices []string, program string) bench.Report {
	t.Helper()
	if mode == bench.Paced && runtime.NumCPU() < 2 {
		t.Skip("the paced set-up needs two CPUs")
	}
	o := bench.Options{
		Sessions: 1000, Hosts: 1, Repeat: 1, Length: 64, Profile: bench.Quick, Mode: mode, CPU: runtime.NumCPU() - 1, Smoke: true,
		Executable: program, Null: dut.All()[0], Direction: trafficgen.Both,
		Search: method.Goal{Loss: 0.01, Exceed: 0.5, Trials: 3, Width: 0.5},
	}
	for _, m := range dut.All() {
		if slices.Contains(devices, m.Name) {
			o.Devices = append(o.Devices, m)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r, err := bench.Run(ctx, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noise is what a busy machine may do to gates; the others always hold.
var noise = []string{"steal", "generator", "found", "prepared", "complete", "validated", "longer", "tagged"}

func TestNAT44Scenarios(t *testing.T) {
	lab.NewForTest(t, "smoke") // skips the test without root
	program := filepath.Join(t.TempDir(), "realmgate")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "github.com/realmgate/realmgate/cmd/realmgate").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v: %s", err, out)
	}
	for _, c := range []struct {
		scenario bench.Scenario
		mode     bench.Mode
		metric   string
		counted  bool // the device's own count is a gate
	}{
		{natEstablish, bench.SelfClocked, "rate", true},
		{natEstablish, bench.Paced, "rate", true},
		{natThroughput, bench.SelfClocked, "rate", true},
		{natThroughput, bench.Paced, "rate", true},
		{natLoss, bench.Paced, "loss_100", true},
		{natLatency, bench.Paced, "latency_p99.9", true},
		{natPDV, bench.SelfClocked, "pdv", true},
		{natTeardown, bench.SelfClocked, "teardown", true},
		{natCapacity, bench.SelfClocked, "capacity", false},
		{natMemory, bench.SelfClocked, "memory", true},
	} {
		t.Run(c.scenario.Name+"/"+string(c.mode), func(t *testing.T) {
			devices := c.scenario.Devices
			if c.mode == bench.Paced {
				devices = devices[:2] // a search has many trials
			}
			r := smoke(t, c.scenario, c.mode, devices, program)
			for _, device := range devices {
				i := slices.IndexFunc(r.Results, func(q bench.Result) bool { return q.DUT == device && q.Metric == c.metric })
				if i < 0 {
					t.Fatalf("%s has no %s", device, c.metric)
				}
				q := r.Results[i]
				for _, trial := range q.Trials {
					if v := float64(trial.Value); math.IsNaN(v) || math.IsInf(v, 0) {
						t.Errorf("%s: %v", device, q.Trials)
					}
				}
				if c.counted && q.Gates["counted"].Passed == 0 {
					t.Errorf("%s: nobody asked for its number of sessions: %v", device, q.Gates)
				}
				for name, gate := range q.Gates {
					if gate.Failed > 0 && (c.mode == bench.SelfClocked && name == "complete" || !slices.Contains(noise, name)) {
						t.Errorf("%s: %s: %s", device, name, gate.Detail)
					}
				}
			}
		})
	}
}
