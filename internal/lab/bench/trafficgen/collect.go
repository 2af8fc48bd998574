package trafficgen

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

func possibleCPUs() int { return ebpf.MustPossibleCPU() }

// collect waits until all frames came, or none does any more for as long as
// stragglers are waited for.
func (g *Generator) collect(ctx context.Context, p Plan) (Outcome, error) {
	deadline := time.Now().Add(p.Wait)
	for {
		o, err := g.outcome(p.Rate > 0)
		if err != nil {
			return Outcome{}, fmt.Errorf("read what the tester saw: %w", err)
		}
		if o.Lost() == 0 || time.Now().After(deadline) {
			if p.StampEvery > 0 { // there are those of an earlier plan otherwise
				o.Latency, err = g.latency()
			}
			return o, err
		}
		select {
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

func (g *Generator) outcome(paced bool) (o Outcome, err error) {
	progress, err := g.progress()
	if err != nil {
		return o, err
	}
	o.Sent, o.Missing = progress.Sent-progress.Missing, progress.Missing
	if progress.Ended == 0 { // it stalled
		if progress.Ended, err = monotonic(); err != nil {
			return o, err
		}
	}
	if !paced {
		progress.Ended = max(progress.Ended, progress.Arrived)
	}
	o.Elapsed, o.Stalled = time.Duration(progress.Ended-progress.Started), time.Duration(progress.Stalled)
	if o.Initiator, err = g.counters(Initiator); err != nil {
		return o, err
	}
	o.Responder, err = g.counters(Responder)
	return o, err
}

func (g *Generator) counters(side Side) (all Counters, err error) {
	var each []bpfTrafficgenCounters
	if err := g.objects.TrafficgenCounts.Lookup(uint32(side), &each); err != nil {
		return all, err
	}
	for _, c := range each {
		all.Received += c.Received
		all.Duplicate += c.Duplicate
		all.Reordered += c.Reordered
		all.Untranslated += c.Untranslated
		all.Misdirected += c.Misdirected
		all.Moved += c.Moved
		all.Corrupt += c.Corrupt
		all.Other += c.Other
	}
	return all, nil
}

func (g *Generator) latency() (Latency, error) {
	l := Latency{Buckets: make([]uint64, bpfTrafficgenLimitLATENCY_BUCKETS)}
	var each []uint64
	for bucket := range l.Buckets {
		if err := g.objects.TrafficgenLatencies.Lookup(uint32(bucket), &each); err != nil {
			return l, fmt.Errorf("read the delays: %w", err)
		}
		for _, n := range each {
			l.Buckets[bucket] += n
		}
	}
	return l, nil
}

// monotonic is the clock that the programs read (bpf_ktime_get_ns).
func monotonic() (uint64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return uint64(now.Nano()), nil
}
