package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Bed is a device at work in its rig, with a tester.
type Bed struct {
	Model
	Device Device
	Rig    *Rig
	Setup  Setup
	Tester *trafficgen.Generator
	Flows  trafficgen.Flows

	bench *Bench
	epoch uint16
	hosts bool               // they are there
	gates map[string]string  // what failed in this trial, "" for what held
	hints map[string]float64 // rates that searches have found
	// threads are the CPUs to which a scenario has moved the device.
	threads []int
	losses  losses // in the paced set-up
	lossy   bool   // it is said that some sessions are lost at any rate
	// turns says that its trials are in parts, between which yield lets others have theirs.
	turns bool
	yield func() error
}

// bed lays a rig and brings a device up in it.
func (b *Bench) bed(ctx context.Context, m Model, setup Setup, flows trafficgen.Flows) (bed *Bed, err error) {
	if b.Mode == Paced {
		if err := b.Host.letRealTimeRun(); err != nil {
			return nil, err
		}
	}
	b.beds++
	name := fmt.Sprintf("%s-%d", m.Name, b.beds)
	bed = &Bed{Model: m, Device: m.New(), Setup: setup, Flows: flows, bench: b, hints: map[string]float64{}}
	if m.External {
		bed.Flows, bed.Setup.NAT = externalFlows(flows.Count()), trafficgen.Addresses{}
		bed.Rig, err = b.External.lay(ctx, b.Host)
	} else {
		bed.Rig, err = NewRig(b.lab, name)
	}
	if err != nil {
		return nil, err
	}
	bed.Rig.Host, bed.Rig.Directory, bed.Rig.Executable, bed.Rig.CPU = b.Host, b.directory, b.Executable, b.CPU
	bed.Rig.Instance = strings.TrimPrefix(b.lab.ID(), "rg-") + fmt.Sprintf("-%d", b.beds)
	if setup.Inbound {
		bed.Rig.Turn()
	}
	if err = bed.Device.Up(ctx, bed.Rig, setup); err != nil {
		return nil, errors.Join(fmt.Errorf("bring up %s: %w", m.Name, err), bed.Device.Down())
	}
	if bed.Tester, err = trafficgen.Load(bed.Flows.Count()); err == nil {
		err = bed.Rig.Attach(bed.Tester)
	}
	if err == nil && m.External {
		err = bed.learn(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, bed.down())
	}
	return bed, nil
}

func (b *Bed) down() error {
	err := b.Device.Down()
	if b.Tester != nil {
		err = errors.Join(err, b.Tester.Close())
	}
	if err != nil {
		return fmt.Errorf("take down %s: %w", b.Name, err)
	}
	return nil
}

// translation is what the device does to sources and destinations: the null device
// does what no setup says.
func (b *Bed) translation() (pool trafficgen.Addresses, dnat trafficgen.DNAT) {
	if b.isNull() {
		return pool, dnat
	}
	return b.Setup.NAT, b.Setup.DNAT
}

// Translation is what sources are translated to; the zero value is nothing.
func (b *Bed) Translation() trafficgen.Addresses {
	pool, _ := b.translation()
	return pool
}

func (b *Bed) isNull() bool { return b.Name == b.bench.Null.Name }

// Gate notes a condition that must hold for the trial to be valid.
func (b *Bed) Gate(name string, holds bool, format string, args ...any) {
	if holds {
		if _, known := b.gates[name]; !known {
			b.gates[name] = ""
		}
		return
	}
	b.gates[name] = fmt.Sprintf(format, args...)
}

// Gates that say what the others follow from come first, and what the tester or its
// machine failed to do last: a device's own fault is no less one on a busy machine.
var (
	firstGates = []string{"translated", "prepared"}
	testers    = []string{"generator", "contention", "steal"}
)

// before is the order in which gates say why a trial is invalid.
func before(a, b string) int {
	rank := func(name string) int {
		if i := slices.Index(firstGates, name); i >= 0 {
			return i - len(firstGates)
		}
		return 1 + slices.Index(testers, name)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// invalid says why the trial is, or nothing.
func (b *Bed) invalid() string {
	for _, name := range slices.SortedFunc(maps.Keys(b.gates), before) {
		if why := b.gates[name]; why != "" {
			return name + ": " + why
		}
	}
	return ""
}

// disturbed reports whether something but the device made the trial invalid.
func (b *Bed) disturbed() bool {
	return slices.ContainsFunc(testers, func(name string) bool { return b.gates[name] != "" })
}

// AsynchronousWindow is how many frames are under way through an asynchronous
// device where no rate is asked for: enough to keep it busy, and half of what the
// kernel queues for a program unless it is told otherwise.
const AsynchronousWindow = 512

// Run sends a plan through the device. What the plan leaves out comes from the
// options: flows, frame length, pool, CPU, time for stragglers. All frames must
// come, as they should be, unless mayLose.
func (b *Bed) Run(ctx context.Context, p trafficgen.Plan, mayLose bool) (trafficgen.Outcome, error) {
	b.epoch = max(b.epoch, 1)
	p.Flows, p.CPU, p.Epoch = b.Flows, b.bench.CPU, b.epoch
	p.Pool, p.DNAT = b.translation()
	p.Wait = b.bench.straggle()
	if p.Length == 0 {
		p.Length = b.bench.Length
	}
	if b.Asynchronous && p.Window == 0 && p.Rate == 0 {
		p.Window = AsynchronousWindow
	}
	if p.VerifyEvery == 0 {
		p.VerifyEvery = 64
	}
	if err := b.ready(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	if p.Rate > 0 { // else it would lose a twentieth of its time
		if err := b.bench.Host.letRealTimeRun(); err != nil {
			return trafficgen.Outcome{}, err
		}
	}
	stolen := stealWatch{cpus: append(b.bench.cpus(), b.threads...)}
	p.Between = func() error {
		stolen.end()
		err := b.yield()
		stolen.begin()
		return err
	}
	stolen.begin()
	o, err := b.send(ctx, p)
	stolen.end()
	if err != nil {
		return o, fmt.Errorf("%s: %w", b.Name, err)
	}
	if !b.bench.Smoke { // whose trials are too short to tell
		share, left := stolen.share(), leaveOut(o.Parts, stolen.parts)
		b.Gate("steal", left || share <= mostStolen, "%.0f %% of a CPU's time was stolen", 100*share)
		b.Gate("contention", left || o.Waited <= mayWait(p, o.Elapsed), "the tester waited %s of %s for its CPU", o.Waited, o.Elapsed)
	}
	achieved := offered(o)
	b.Gate("generator", p.Rate == 0 || achieved >= leastAchieved*p.Rate, "%.0f/s sent, %.0f/s asked", achieved, p.Rate)
	b.Gate("translated", o.Wrong() == 0, "of %d frames sent, arrived wrong: initiator %+v, responder %+v", o.Sent, o.Initiator, o.Responder)
	b.Gate("complete", mayLose || o.Lost() == 0 && o.Missing == 0, "%d of %d frames lost, %d not answered", o.Lost(), o.Sent, o.Missing)
	return o, nil
}

// send counts where frames are lost, where they may be.
func (b *Bed) send(ctx context.Context, p trafficgen.Plan) (trafficgen.Outcome, error) {
	if b.bench.Mode != Paced {
		return b.Tester.Run(ctx, p)
	}
	before, err := b.Rig.drops()
	if err != nil {
		return trafficgen.Outcome{}, err
	}
	o, err := b.Tester.Run(ctx, p)
	if err != nil || o.Lost() == 0 {
		return o, err
	}
	after, err := b.Rig.drops()
	b.losses.add(o.Lost(), before, after)
	return o, err
}

// ready leaves the device alone for a while and sees to its place.
func (b *Bed) ready(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.bench.settle()):
	}
	if b.bench.Mode != Paced {
		return nil
	}
	return b.Rig.place(b.bench.DeviceCPU())
}

// Establish is phase 1 of RFC 9693: every flow once, or the first p.Frames of
// them, through an empty table, in turns with other devices.
func (b *Bed) Establish(ctx context.Context, p trafficgen.Plan) (trafficgen.Outcome, error) {
	if p.Frames == 0 {
		p.Frames = b.Flows.Count()
	}
	return b.establish(ctx, b.inTurns(p))
}

func (b *Bed) establish(ctx context.Context, p trafficgen.Plan) (trafficgen.Outcome, error) {
	begun := time.Now()
	if err := b.beginEmpty(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	p.Random, p.Direction = false, trafficgen.Forward
	o, err := b.Run(ctx, p, p.Rate > 0)
	if err != nil {
		return o, err
	}
	if err := b.counted(ctx, int(o.Received()), int(o.Sent)); err != nil {
		return o, err
	}
	if b.Setup.Timeout > 0 {
		took := time.Since(begun)
		b.Gate("timeout", took < b.Setup.Timeout, "it took %s, and sessions live %s", took, b.Setup.Timeout)
	}
	return o, nil
}

// Denied offers every flow once, in turns with other devices, to a device that lets
// none pass and keeps no session of any. The control lets all pass.
func (b *Bed) Denied(ctx context.Context) (trafficgen.Outcome, error) {
	if err := b.beginEmpty(ctx); err != nil {
		return trafficgen.Outcome{}, err
	}
	o, err := b.Run(ctx, b.inTurns(trafficgen.Plan{Frames: b.Flows.Count()}), true)
	if err != nil || b.isNull() {
		return o, err
	}
	b.Gate("denied", o.Received() == 0, "%d of %d came through", o.Received(), o.Sent)
	return o, b.counted(ctx, 0, 0)
}

// Overfill offers the first p.Frames flows to an empty table, which may be too
// small for them, and returns how many sessions the device then has: by its own count,
// or, of a box of others, as many as answer.
func (b *Bed) Overfill(ctx context.Context, p trafficgen.Plan) (o trafficgen.Outcome, sessions int, err error) {
	b.epoch = b.epoch%65535 + 1
	if o, err = b.Run(ctx, p, true); err != nil {
		return o, 0, err
	}
	if !b.External {
		sessions, err = b.Device.Count(ctx)
		return o, sessions, err
	}
	p.Direction, p.VerifyEvery = trafficgen.Reverse, 1
	answered, err := b.Run(ctx, p, true)
	return o, int(answered.Received()), err
}

// Remembers reports whether the device has sessions that can be counted, or are taken
// to be there since nobody can look into a box of others.
func (b *Bed) Remembers(ctx context.Context) bool {
	_, err := b.Device.Count(ctx)
	return b.External || !errors.Is(err, ErrUnsupported)
}

// Seen returns how many sessions have come through since the table was empty.
func (b *Bed) Seen() (int, error) { return b.Tester.Seen(b.epoch) }

// count is -1 for a device that cannot tell.
func (b *Bed) count(ctx context.Context) (int, error) {
	n, err := b.Device.Count(ctx)
	if errors.Is(err, ErrUnsupported) {
		return -1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the sessions of %s: %w", b.Name, err)
	}
	return n, nil
}

// Reset empties the device's tables.
func (b *Bed) Reset(ctx context.Context) error {
	if err := b.Device.Reset(ctx); err != nil {
		return fmt.Errorf("reset %s: %w", b.Name, err)
	}
	return nil
}
