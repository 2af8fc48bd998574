package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/test/lab"
)

// testRig is a rig in a lab of its own, with a tester for so many flows.
func testRig(t *testing.T, flows int) (*Rig, *trafficgen.Generator) {
	t.Helper()
	r, err := NewRig(lab.New(t, "bench"), "device")
	if err != nil {
		t.Fatal(err)
	}
	g, err := trafficgen.Load(flows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Attach(g); err != nil {
		t.Fatal(err)
	}
	return r, g
}

// nullDevice forwards and does nothing else.
type nullDevice struct{ program *trafficgen.Null }

func (d *nullDevice) Up(_ context.Context, rig *Rig, _ Setup) error {
	return rig.Device.Do(func() (err error) {
		d.program, err = trafficgen.NewNull(rig.Private, rig.Public)
		return err
	})
}
func (d *nullDevice) Reset(context.Context) error           { return nil }
func (d *nullDevice) Count(context.Context) (int, error)    { return 0, ErrUnsupported }
func (d *nullDevice) Memory(context.Context) (int64, error) { return 0, ErrUnsupported }
func (d *nullDevice) Down() error {
	if d.program == nil {
		return nil
	}
	return d.program.Close()
}

func nullRig(t *testing.T, flows int) (*Rig, *trafficgen.Generator) {
	t.Helper()
	r, g := testRig(t, flows)
	d := &nullDevice{}
	if err := d.Up(t.Context(), r, Setup{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Down(); err != nil {
			t.Error(err)
		}
	})
	return r, g
}

// testPlan sends every flow once. The tester runs on the first CPU, which every
// machine has.
func testPlan(flows trafficgen.Flows) trafficgen.Plan {
	return trafficgen.Plan{
		Flows: flows, Frames: flows.Count(), Length: 64, Epoch: 1, VerifyEvery: 1, Wait: 5 * time.Second,
	}
}

func run(t *testing.T, g *trafficgen.Generator, p trafficgen.Plan) trafficgen.Outcome {
	t.Helper()
	o, err := g.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// fewFlows are so many flows from one source, as different as their ports.
func fewFlows(n int) trafficgen.Flows {
	return trafficgen.Flows{
		Sources:          trafficgen.Addresses{First: after(Sources.Addr(), 2), Count: 1},
		SourcePorts:      trafficgen.SourcePorts.Some(n),
		Destinations:     trafficgen.Addresses{First: after(Destinations.Addr(), 2), Count: 1},
		DestinationPorts: trafficgen.DestinationPorts.Some(1),
	}
}

func TestNullForwardsFramesOfAllLengthsBothWays(t *testing.T) {
	flows := fewFlows(1000)
	_, g := nullRig(t, flows.Count())
	for _, length := range []int{64, 65, 128, 256, 512, 1024, 1280, 1518} {
		p := testPlan(flows)
		p.Length = length
		o := run(t, g, p)
		if o.Received() != 1000 || o.Lost() != 0 || o.Wrong() != 0 || o.Responder.Received != 1000 {
			t.Fatalf("%d octets forward: %+v", length, o)
		}
		p.Direction = trafficgen.Reverse
		if o = run(t, g, p); o.Initiator.Received != 1000 || o.Wrong() != 0 || o.Missing != 0 {
			t.Fatalf("%d octets back: %+v", length, o)
		}
		p.Direction, p.Random, p.Frames = trafficgen.Both, true, 5000
		if o = run(t, g, p); o.Initiator.Received != 2500 || o.Responder.Received != 2500 || o.Wrong() != 0 {
			t.Fatalf("%d octets both ways: %+v", length, o)
		}
	}
}

// Backward go only flows that the responder has seen, in this epoch.
func TestResponderAnswersOnlyWhatItSaw(t *testing.T) {
	flows := fewFlows(1000)
	_, g := nullRig(t, flows.Count())
	p := testPlan(flows)
	p.Frames = 400
	run(t, g, p)
	p.Direction, p.Frames = trafficgen.Reverse, 1000
	if o := run(t, g, p); o.Sent != 400 || o.Missing != 600 || o.Received() != 400 {
		t.Errorf("after 400 of 1000 flows: %+v", o)
	}
	p.Epoch = 2
	if o := run(t, g, p); o.Sent != 0 || o.Missing != 1000 {
		t.Errorf("in a new epoch: %+v", o)
	}
}

// A paced generator is never faster than asked, and says by how much it was late.
func TestPacingPaces(t *testing.T) {
	flows := fewFlows(1000)
	_, g := nullRig(t, flows.Count())
	for _, rate := range []float64{5_000, 33_333, 200_000} {
		p := testPlan(flows)
		p.Random, p.Frames, p.Rate = true, 2000, rate
		o := run(t, g, p)
		interval := time.Duration(1e9 / rate)
		due := time.Duration(float64(p.Frames-1)*1e9/rate) + o.Stalled
		if late := o.Elapsed - due; late < -time.Microsecond || late > 64*interval {
			t.Errorf("%.0f/s: %d frames in %s, of which it stalled %s: %s late", rate, p.Frames, o.Elapsed, o.Stalled, late)
		}
		if o.Sent != 2000 {
			t.Errorf("%.0f/s: %+v", rate, o)
		}
	}
	p := testPlan(flows)
	for _, rate := range []float64{-1, 0.5, 2e8} {
		p.Rate = rate
		if _, err := g.Run(t.Context(), p); err == nil {
			t.Errorf("a rate of %g passes", rate)
		}
	}
}

// An ended context stops a generator that would go on for hours.
func TestPacedGeneratorStops(t *testing.T) {
	flows := fewFlows(1000)
	_, g := nullRig(t, flows.Count())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p := testPlan(flows)
	p.Rate = 1
	if o, err := g.Run(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", o, err)
	}
}
