package scenario

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/dut"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
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

// nat44Runs are smoke runs of the scenarios of RFC 9693, 8219 and 2544.
var nat44Runs = []struct {
	bench.Scenario
	mode    bench.Mode
	metric  string
	counted bool // the device's own count is a gate
	points  int  // of a sweep; 1 for a scenario without any
}{
	{natEstablish, bench.SelfClocked, "rate", true, 1},
	{natEstablish, bench.Paced, "rate", true, 1},
	{natThroughput, bench.SelfClocked, "rate", true, 1},
	{natThroughput, bench.Paced, "rate", true, 1},
	{natLoss, bench.Paced, "loss", true, 2},
	{natLatency, bench.Paced, "latency_p99.9", true, 1},
	{natPDV, bench.SelfClocked, "pdv", true, 1},
	{natTeardown, bench.SelfClocked, "teardown", true, 1},
	{natCapacity, bench.SelfClocked, "capacity", false, 1},
	{natMemory, bench.SelfClocked, "memory", true, 1},
	{sessionMemory, bench.SelfClocked, "memory", true, 2},
}

func TestNAT44Scenarios(t *testing.T) {
	program := buildProgram(t)
	for _, c := range nat44Runs {
		t.Run(c.Name+"/"+string(c.mode), func(t *testing.T) {
			devices := c.Devices
			if c.mode == bench.Paced {
				devices = devices[:2] // a search has many trials
			} else if c.Name == natThroughput.Name {
				devices = append([]string{"realmgate-tcx"}, devices...)
			}
			r := smoke(t, c.Scenario, c.mode, devices, program)
			for _, device := range devices {
				results := slices.DeleteFunc(slices.Clone(r.Results), func(q bench.Result) bool { return q.DUT != device || q.Metric != c.metric })
				if len(results) != c.points {
					t.Fatalf("%s has %d results of %s, want %d", device, len(results), c.metric, c.points)
				}
				for _, q := range results {
					checkNAT44(t, q, c.mode, c.counted)
				}
			}
		})
	}
}

func checkNAT44(t *testing.T, q bench.Result, mode bench.Mode, counted bool) {
	t.Helper()
	for _, trial := range q.Trials {
		if v := float64(trial.Value); math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s: %v", q.DUT, q.Trials)
		}
	}
	tried := []string{"translated", "complete"}
	if counted {
		tried = append(tried, "empty", "counted")
	}
	for _, name := range tried {
		if q.Gates[name] == (bench.Gate{}) {
			t.Errorf("%s: nobody tried %q: %v", q.DUT, name, q.Gates)
		}
	}
	for name, gate := range q.Gates {
		if gate.Failed > 0 && (mode == bench.SelfClocked && name == "complete" || !slices.Contains(noise, name)) {
			t.Errorf("%s: %s: %s", q.DUT, name, gate.Detail)
		}
	}
}

// Nothing was lost where nothing may be, and each device that has a table holds at
// least what it was set up for, to the precision of the search.
func TestCapacityIsWhatWasAskedFor(t *testing.T) {
	r := smoke(t, natCapacity, bench.SelfClocked, natDevices, buildProgram(t))
	devices := 0
	for _, q := range r.Results {
		if devices++; float64(q.Median) < 990 || float64(q.Median) > overfill*1000 {
			t.Errorf("%s holds %v of 1000 sessions", q.DUT, q.Median)
		}
	}
	if devices != len(natDevices) {
		t.Errorf("%d of %d devices: %+v", devices, len(natDevices), r.Results)
	}
}
