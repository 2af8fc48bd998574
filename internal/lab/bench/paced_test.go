package bench

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/test/lab"
)

// testBed is the null device at work, with as few frames as can be.
func testBed(t *testing.T, mode Mode) *Bed {
	t.Helper()
	if mode == Paced && runtime.NumCPU() < 2 {
		t.Skip("the paced set-up needs two CPUs")
	}
	null := Model{Name: "null", New: func() Device { return &nullDevice{} }}
	b := &Bench{
		Options: Options{Null: null, Mode: mode, Length: 64, CPU: runtime.NumCPU() - 1, Smoke: true, Search: method.Goal{Loss: 0.01, Exceed: 0.5, Trials: 3, Width: 0.2}, Direction: trafficgen.Both},
		Host:    hostForTest(t),
		lab:     lab.New(t, "bench"),
	}
	flows := fewFlows(1000)
	bed, err := b.bed(t.Context(), null, Setup{Sessions: flows.Count()}, flows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.down(); err != nil {
			t.Error(err)
		}
	})
	bed.Gates.begin()
	return bed
}

func TestPacedSearchOverNull(t *testing.T) {
	bed := testBed(t, Paced)
	if err := bed.Sessions.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := bed.Search.Rate("frames", func(rate float64) (trafficgen.Outcome, error) {
		o, err := bed.Tester.Run(t.Context(), bed.Tester.Load(rate), true)
		if o.Sent+o.Missing < leastFrames {
			t.Errorf("%d frames at %.0f/s", o.Sent, rate)
		}
		return o, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if why := bed.Gates.failures["translated"]; why != "" {
		t.Error(why)
	}
	t.Logf("%d trials: %.0f to %.0f/s", len(found.Steps), found.Lower, found.Upper)
	if found.Lower <= 0 || len(bed.Tester.bench.Report.Series) != 2 || len(bed.Tester.bench.Report.Series[0].Points) != len(found.Steps) {
		t.Errorf("found %+v, traced %+v", found, bed.Tester.bench.Report.Series)
	}
}

func TestGates(t *testing.T) {
	bed := testBed(t, SelfClocked)
	if _, err := bed.Sessions.Establish(t.Context(), trafficgen.Plan{}); err != nil {
		t.Fatal(err)
	}
	if why := bed.Gates.failures["generator"]; why != "" {
		t.Errorf("at full load: %s", why)
	}
	if _, err := bed.Tester.Run(t.Context(), trafficgen.Plan{Frames: 5000, Random: true, Rate: trafficgen.MaxRate}, true); err != nil {
		t.Fatal(err)
	}
	if why := bed.Gates.failures["generator"]; !strings.Contains(why, "asked") {
		t.Errorf("no generator sends %g/s; the gate says %q", trafficgen.MaxRate, why)
	}
	if o, err := bed.Tester.Run(t.Context(), trafficgen.Plan{Frames: 1000, Direction: trafficgen.Reverse}, false); err != nil || o.Missing != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if why := bed.Gates.failures["complete"]; why != "" {
		t.Error(why)
	}
	bed.Tester.epoch++ // as if the responder had seen nothing
	if _, err := bed.Tester.Run(t.Context(), trafficgen.Plan{Frames: 1000, Direction: trafficgen.Reverse}, false); err != nil {
		t.Fatal(err)
	}
	if why := bed.Gates.failures["complete"]; !strings.Contains(why, "1000 not answered") {
		t.Errorf("the gate says %q", why)
	}
}

// A part of a trial is repeated until it is valid; only its last attempt counts.
func TestTry(t *testing.T) {
	bed := &Bed{Gates: &Gates{failures: map[string]string{"before": ""}}}
	attempts := 0
	err := bed.Gates.Try(func() error {
		attempts++
		bed.Gates.Require("noise", attempts == 2, "attempt %d", attempts)
		return nil
	})
	if err != nil || attempts != 2 || bed.Gates.invalid() != "" || len(bed.Gates.failures) != 2 {
		t.Errorf("%v after %d attempts: %v", err, attempts, bed.Gates.failures)
	}
	err = bed.Gates.Try(func() error {
		bed.Gates.Require("noise", false, "always")
		return nil
	})
	if err != nil || bed.Gates.failures["noise"] != "always" {
		t.Errorf("%v: %v", err, bed.Gates.failures)
	}
	broken := errors.New("broken")
	if err := bed.Gates.Try(func() error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// What a trial is called invalid for is what the device did, if it did anything.
func TestInvalidNamesTheDeviceFirst(t *testing.T) {
	bed := &Bed{Gates: &Gates{}}
	bed.Gates.begin()
	for _, name := range []string{"contention", "steal", "generator", "found", "complete", "prepared", "translated"} {
		bed.Gates.Require(name, false, "it failed")
		if got := bed.Gates.invalid(); name != "steal" && got != name+": it failed" {
			t.Errorf("with %s: %s", name, got)
		}
	}
	if !bed.Gates.disturbed() || (Trial{Invalid: bed.Gates.invalid()}).Disturbed() || !(Trial{Invalid: "steal: 31 %"}).Disturbed() || (Trial{}).Disturbed() {
		t.Error("a disturbed trial is not told from one that the device failed")
	}
}

func TestPacedSetupNeedsTwoCPUs(t *testing.T) {
	if err := (Options{Mode: Paced}).checkPaced(1); err == nil || !strings.Contains(err.Error(), "--setup self-clocked") {
		t.Error(err)
	}
	if err := errors.Join((Options{Mode: Paced}).checkPaced(2), (Options{Mode: SelfClocked}).checkPaced(1)); err != nil {
		t.Error(err)
	}
	for _, cpu := range []int{0, 1, 3} {
		if o := (Options{CPU: cpu}); o.DeviceCPU() == cpu || o.DeviceCPU() < 0 {
			t.Errorf("tester on CPU %d, device on %d", cpu, o.DeviceCPU())
		}
	}
}

func TestProfiles(t *testing.T) {
	rfc, quick := Options{Profile: RFC}, Options{Profile: Quick}
	if rfc.Duration().Seconds() != 60 || rfc.straggle().Seconds() != 2 || rfc.settle().Seconds() != 5 || RFC.Repeat() != 20 || RFC.Goal().Loss != 0 {
		t.Error("the profile rfc does not keep to RFC 2544 sections 23 and 24, and RFC 8219 section 7.2")
	}
	if quick.Duration() >= rfc.Duration() || Quick.Repeat() >= RFC.Repeat() || Quick.Goal().Loss == 0 {
		t.Error("the profile quick is not quick")
	}
	bed := newBed(&Bench{Options: rfc}, Model{}, nil)
	if n := bed.Tester.Load(10_000).Frames; n != 600_000 {
		t.Errorf("%d frames in a minute of 10,000/s", n)
	}
	if n := bed.Tester.Load(1e8).Frames; n != trafficgen.MaxFrames {
		t.Errorf("%d frames: a trial tells %d apart", n, trafficgen.MaxFrames)
	}
}
