package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/test/lab"
)

// sharer is a device whose sessions are in a table of the whole machine.
func sharer(name string) Model {
	m := idleModel(name)
	m.Bytes = func(int) int64 { return 0 }
	return m
}

// All parts of a round's trials are in turns with each other, and two devices whose
// tables are the same are in no round together.
func TestTrialsInTurns(t *testing.T) {
	b := &Bench{Options: optionsFor(2, idleModel("a"), sharer("s"), sharer("u")), lab: lab.New(t, "turns"), directory: t.TempDir()}
	b.Expect((b.Repeat + 1) * 4)
	flows, _ := FlowsFor(b.Sessions, b.Hosts)
	var parts []string
	err := b.Compare(t.Context(), Comparison{Flows: flows, InTurns: true, Measure: func(_ context.Context, bed *Bed) ([]Measure, error) {
		for range 3 {
			parts = append(parts, bed.DUT.Name)
			if err := bed.Tester.yield(); bed.Tester.turns && err != nil {
				return nil, err
			}
		}
		return []Measure{{Metric: "rate", Unit: PerSecond, Value: 1}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	const warming, trial = 4 * 3, 3 * 3 // parts
	for i := warming; i < len(parts); i += 3 {
		if i%trial == warming%trial && slices.Contains(parts[i:i+trial], "s") == slices.Contains(parts[i:i+trial], "u") {
			t.Errorf("a round has %v", parts[i:i+trial])
		}
		if one := slices.Compact(slices.Sorted(slices.Values(parts[i : i+3]))); len(one) != 3 {
			t.Errorf("not in turns: %v", parts[i:i+3])
		}
	}
	if all := strings.Join(parts, " "); len(parts) != warming+2*2*trial || b.done != b.total || strings.Count(all, "s") != 3*3 {
		t.Errorf("%d of %d trials: %s", b.done, b.total, all)
	}
	for _, r := range b.Report.Ratios {
		if r.Value != 1 || r.Least != 1 || r.Most != 1 {
			t.Errorf("%+v", r)
		}
	}
	if len(b.Report.Ratios) != 2 {
		t.Errorf("%+v", b.Report.Ratios)
	}
}

// When a trial fails, those in turns with it end, and count for nothing.
func TestTrialInTurnsFails(t *testing.T) {
	b := &Bench{Options: optionsFor(1, idleModel("a"), idleModel("b")), lab: lab.New(t, "turns"), directory: t.TempDir()}
	flows, _ := FlowsFor(b.Sessions, b.Hosts)
	broken := errors.New("broken")
	ended := 0
	err := b.Compare(t.Context(), Comparison{Flows: flows, InTurns: true, Measure: func(_ context.Context, bed *Bed) ([]Measure, error) {
		defer func() { ended++ }()
		for bed.Tester.turns {
			if err := bed.Tester.yield(); err != nil {
				return nil, err
			}
			if bed.DUT.Name == "b" {
				return nil, broken
			}
		}
		return []Measure{{Metric: "rate", Unit: PerSecond, Value: 1}}, nil
	}})
	if !errors.Is(err, broken) || errors.Is(err, errLeft) || ended != 6 || len(b.Report.Results) != 0 {
		t.Errorf("%v, %d trials ended, %+v", err, ended, b.Report.Results)
	}
}

// A trial in parts is the same trial, and what others do between them is no part of it.
func TestTrialInParts(t *testing.T) {
	flows := fewFlows(1000)
	_, g := nullRig(t, flows.Count())
	between, others := 0, time.Duration(0)
	p := testPlan(flows)
	p.Part, p.Between = 300, func() error {
		begun := time.Now()
		time.Sleep(50 * time.Millisecond) // it is what others do
		between, others = between+1, others+time.Since(begun)
		return nil
	}
	begun := time.Now()
	o := run(t, g, p)
	if between != 3 || o.Sent != 1000 || o.Received() != 1000 || o.Wrong() != 0 {
		t.Errorf("%d times between parts, %+v", between, o)
	}
	if all := time.Since(begun); o.Elapsed <= 0 || o.Elapsed > all-others {
		t.Errorf("the frames took %s, others %s, of %s", o.Elapsed, others, all)
	}
	p.Rate = 1000
	if _, err := g.Run(t.Context(), p); err == nil {
		t.Error("parts at a rate are not refused")
	}
	stop := errors.New("stop")
	p.Rate, p.Between = 0, func() error { return stop }
	if _, err := g.Run(t.Context(), p); !errors.Is(err, stop) {
		t.Errorf("between parts: %v", err)
	}
}

// Parts that others disturbed are in no rate, unless they are most of a trial.
func TestDisturbedPartsAreLeftOut(t *testing.T) {
	part := func(waited time.Duration) trafficgen.Part {
		return trafficgen.Part{Sent: 100, Elapsed: 100 * time.Millisecond, Waited: waited}
	}
	calm, waited := part(2*time.Millisecond), part(3*time.Millisecond)
	waited.Elapsed = 101 * time.Millisecond
	for _, c := range []struct {
		parts  []trafficgen.Part
		stolen []float64
		left   bool
		rate   float64
	}{
		{[]trafficgen.Part{calm, waited, calm}, []float64{0, 0, 0.05}, true, 1000},
		{[]trafficgen.Part{calm, waited, calm, calm}, []float64{0, 0, 0.06, 0}, true, 1000},
		{[]trafficgen.Part{calm, waited, calm}, []float64{0, 0, 0.06}, false, 300 / 0.301},
		{[]trafficgen.Part{waited}, []float64{0}, false, 100 / 0.101},
	} {
		left := leaveOut(c.parts, c.stolen)
		if got := (trafficgen.Outcome{Parts: c.parts}).Rate(); left != c.left || math.Abs(got-c.rate) > 1e-6 {
			t.Errorf("%v, stolen %v: %v and %g/s, want %v and %g/s", c.parts, c.stolen, left, got, c.left, c.rate)
		}
	}
}
