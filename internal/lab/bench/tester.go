package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Tester sends plans through a device and receives what comes out.
type Tester struct {
	Flows     trafficgen.Flows
	Generator *trafficgen.Generator

	dut   *DUT
	rig   *Rig
	gates *Gates
	bench *Bench

	epoch    uint16
	fullRate float64 // that the last trial at full load reached, in frames per second; 0 is none
	losses   losses  // in the paced set-up
	// turns says that its trials are in parts, between which yield lets others have theirs.
	turns bool
	yield func() error
}

// AsynchronousWindow is how many frames are under way through an asynchronous
// device where no rate is asked for: enough to keep it busy, and half of what the
// kernel queues for a program unless it is told otherwise.
const AsynchronousWindow = 512

// Run sends a plan through the device. What the plan leaves out comes from the
// options: flows, frame length, pool, CPU, time for stragglers. All frames must
// come, as they should be, unless mayLose.
func (t *Tester) Run(ctx context.Context, p trafficgen.Plan, mayLose bool) (trafficgen.Outcome, error) {
	t.epoch = max(t.epoch, 1)
	p.Flows, p.CPU, p.Epoch = t.Flows, t.bench.CPU, t.epoch
	p.Pool, p.DNAT = t.dut.translation()
	p.Wait = t.bench.straggle()
	if p.Length == 0 {
		p.Length = t.bench.Length
	}
	if t.dut.Asynchronous && p.Window == 0 && p.Rate == 0 {
		p.Window = AsynchronousWindow
	}
	if p.VerifyEvery == 0 {
		p.VerifyEvery = 64
	}
	if err := t.ready(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	if p.Rate > 0 { // else it would lose a twentieth of its time
		if err := t.bench.Host.letRealTimeRun(); err != nil {
			return trafficgen.Outcome{}, err
		}
	}
	stolen := stealWatch{cpus: append(t.bench.cpus(), t.rig.threads...)}
	p.Between = func() error {
		stolen.end()
		err := t.yield()
		stolen.begin()
		return err
	}
	stolen.begin()
	o, err := t.send(ctx, p)
	stolen.end()
	if err != nil {
		return o, fmt.Errorf("%s: %w", t.dut.Name, err)
	}
	if !t.bench.Smoke { // whose trials are too short to tell
		share, left := stolen.share(), leaveOut(o.Parts, stolen.parts)
		t.gates.Require("steal", left || share <= mostStolen, "%.0f %% of a CPU's time was stolen", 100*share)
		t.gates.Require("contention", left || o.Waited <= mayWait(p, o.Elapsed), "the tester waited %s of %s for its CPU", o.Waited, o.Elapsed)
	}
	t.arrived(o, p, mayLose)
	return o, nil
}

// arrived wants a plan to have been sent as fast as it asks for, and what came to be as it
// should be, but for what NAT may skip of TCP sessions offered at a rate.
func (t *Tester) arrived(o trafficgen.Outcome, p trafficgen.Plan, mayLose bool) {
	achieved := offered(o)
	t.gates.Require("generator", p.Rate == 0 || achieved >= leastAchieved*p.Rate, "%.0f/s sent, %.0f/s asked", achieved, p.Rate)
	wrong := o.Wrong()
	if p.TCP && p.Rate > 0 {
		_, faults := t.dut.skipped(o)
		wrong -= faults
	}
	t.gates.Require("translated", wrong == 0, "of %d frames sent, arrived wrong: initiator %+v, responder %+v", o.Sent, o.Initiator, o.Responder)
	t.gates.Require("complete", mayLose || o.Lost() == 0 && o.Missing == 0, "%d of %d frames lost, %d not answered", o.Lost(), o.Sent, o.Missing)
}

// send counts where frames are lost, where they may be.
func (t *Tester) send(ctx context.Context, p trafficgen.Plan) (trafficgen.Outcome, error) {
	if t.bench.Mode != Paced {
		return t.Generator.Run(ctx, p)
	}
	before, err := t.rig.drops()
	if err != nil {
		return trafficgen.Outcome{}, err
	}
	o, err := t.Generator.Run(ctx, p)
	if err != nil || o.Lost() == 0 {
		return o, err
	}
	after, err := t.rig.drops()
	t.losses.add(o.Lost(), before, after)
	return o, err
}

// ready leaves the device alone for a while and sees to its place.
func (t *Tester) ready(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(t.bench.settle()):
	}
	if t.bench.Mode != Paced {
		return nil
	}
	return t.rig.place(t.bench.DeviceCPU())
}

// forget forgets which flows have come through.
func (t *Tester) forget() { t.epoch = t.epoch%65535 + 1 }

// Seen returns how many flows have come through since they were forgotten.
func (t *Tester) Seen() (int, error) { return t.Generator.Seen(t.epoch) }
