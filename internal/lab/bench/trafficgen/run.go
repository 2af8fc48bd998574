package trafficgen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pollEvery = time.Millisecond
	maxTrial  = 1<<15 - 1
	// A generator with a window has stalled when nothing has moved for so long. It is
	// more than a busy machine keeps anybody waiting.
	leastStall = time.Second

	// pacedBatch is as many frames as the kernel hands to a driver at a time.
	pacedBatch = 16
)

// Run carries out a plan. When ctx ends it stops sending and returns ctx.Err().
func (g *Generator) Run(ctx context.Context, p Plan) (Outcome, error) {
	if err := p.check(); err != nil {
		return Outcome{}, err
	}
	if n := p.Flows.Count(); n > g.flows {
		return Outcome{}, fmt.Errorf("%d flows: the tester was loaded for %d", n, g.flows)
	}
	if err := g.begin(p); err != nil {
		return Outcome{}, fmt.Errorf("prepare a trial: %w", err)
	}
	part := p.Frames
	if p.Part > 0 {
		part = p.Part
	}
	var all Outcome
	for goal := min(part, p.Frames); ; goal = min(goal+part, p.Frames) {
		w, err := g.send(ctx, p, uint64(goal))
		if err != nil {
			return Outcome{}, fmt.Errorf("run the generator: %w", err)
		}
		o, err := g.collect(ctx, p)
		all = o.after(all, w)
		if stalled := all.Sent+all.Missing < uint64(goal); err != nil || stalled || goal == p.Frames {
			return all, err
		}
		if err := p.Between(); err != nil {
			return Outcome{}, err
		}
	}
}

// begin clears what the last trial left, and writes the plan.
func (g *Generator) begin(p Plan) error {
	g.trial = g.trial%maxTrial + 1
	var failed error
	for side := range uint32(2) {
		failed = errors.Join(failed, g.objects.TrafficgenCounts.Put(side, make([]bpfTrafficgenCounters, possibleCPUs())))
	}
	for bucket := range uint32(bpfTrafficgenLimitLATENCY_BUCKETS) {
		if p.StampEvery == 0 {
			break
		}
		failed = errors.Join(failed, g.objects.TrafficgenLatencies.Put(bucket, make([]uint64, possibleCPUs())))
	}
	return errors.Join(failed, g.clearSequences(p),
		g.objects.TrafficgenProgresses.Put(uint32(0), bpfTrafficgenProgress{}), g.objects.TrafficgenArrivals.Put(uint32(0), uint64(0)),
		g.objects.TrafficgenPlans.Put(uint32(0), p.encode(g.trial, g.macs)))
}

func (g *Generator) clearSequences(p Plan) error {
	memory, err := g.objects.TrafficgenSequences.Memory()
	if err != nil {
		return err
	}
	zeros := make([]byte, (min(p.Frames, MaxFrames)+63)/64*8)
	for side := range 2 {
		if _, err := memory.WriteAt(zeros, int64(side)*int64(bpfTrafficgenLimitSEQUENCE_WORDS)*8); err != nil {
			return err
		}
	}
	return nil
}

// waits reports whether the generator does nothing in some of its runs.
func (p Plan) waits() bool { return p.Rate > 0 || p.Window > 0 }

// aim begins a part, which is over when goal frames of the plan have been sent.
func (g *Generator) aim(goal uint64) error {
	p, err := g.progress()
	if err != nil {
		return err
	}
	p.Goal, p.Started, p.Ended, p.Arrived = goal, 0, 0, 0
	return g.objects.TrafficgenProgresses.Put(uint32(0), p)
}

// send runs the generator on the plan's CPU until goal frames are sent. One that
// waits, for their time or for others to arrive, is run without end, since waiting
// takes runs too, and stopped by a signal: every call takes tens of milliseconds
// to set up. It returns how long the thread was ready to run and did not.
func (g *Generator) send(ctx context.Context, p Plan, goal uint64) (waited time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	release, err := occupy(p.CPU, p.Rate > 0)
	if err != nil {
		return 0, err
	}
	defer release()
	before, err := waitedForCPU()
	if err == nil {
		err = g.aim(goal)
	}
	if err != nil {
		return 0, err
	}
	var ended, stalled atomic.Bool
	watched := make(chan struct{})
	thread := unix.Gettid()
	go func() {
		defer close(watched)
		g.watch(ctx, p, goal, thread, &ended, &stalled)
	}()
	program := g.objects.TrafficgenSend
	if p.TCP {
		program = g.objects.TrafficgenSendTcp
	}
	batch := uint32(p.Batch)
	if batch == 0 && p.Rate > 0 {
		batch = pacedBatch
	}
	frame := make([]byte, p.Length-checkLength)
	for ctx.Err() == nil && !stalled.Load() {
		progress, failed := g.progress()
		if failed != nil || err != nil && !errors.Is(err, unix.EINTR) || progress.Sent >= goal {
			err = errors.Join(err, failed)
			break
		}
		repeat := uint32(goal - progress.Sent)
		if p.waits() {
			repeat = 1<<32 - 1
		}
		err = runLive(program.FD(), frame, repeat, batch)
	}
	ended.Store(true)
	<-watched
	if errors.Is(err, unix.EINTR) {
		err = nil
	}
	after, failed := waitedForCPU()
	return after - before, errors.Join(err, failed, ctx.Err())
}

// watch interrupts the thread in the generator's run when it is over, or when no
// frame has left for as long as stragglers are waited for.
func (g *Generator) watch(ctx context.Context, p Plan, goal uint64, thread int, ended, stalled *atomic.Bool) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var sent uint64
	moved := time.Now()
	for !ended.Load() {
		<-ticker.C
		over := ctx.Err() != nil
		if p.waits() && !over {
			progress, err := g.progress()
			over = err != nil || progress.Sent >= goal
			if progress.Sent != sent {
				sent, moved = progress.Sent, time.Now()
			}
		}
		if p.Window > 0 && time.Since(moved) > max(p.Wait, leastStall) {
			stalled.Store(true)
			over = true
		}
		if over {
			// The Go runtime uses SIGURG for itself and ignores it otherwise.
			_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
		}
	}
}

func (g *Generator) progress() (p bpfTrafficgenProgress, err error) {
	err = g.objects.TrafficgenProgresses.Lookup(uint32(0), &p)
	return p, err
}
