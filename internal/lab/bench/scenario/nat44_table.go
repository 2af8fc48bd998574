package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var natTeardown = bench.Scenario{
	Name:     "nat44-teardown",
	About:    "sessions deleted per second (RFC 9693 connection tear-down rate)",
	Devices:  natDevices,
	Modes:    eitherMode,
	External: true, Emptied: true,
	Run: func(ctx context.Context, b *bench.Bench) error {
		b.Note("each device deletes all of its sessions as it does when it is asked to: realmgate on all CPUs at once, the kernel on one")
		return compareNAT(ctx, b, false, measureTeardown)
	},
}

// measureTeardown deletes all sessions at once, and subtracts how long the same
// takes without any (RFC 9693, connection tear-down rate). Of a table that takes minutes to fill it
// also tells how fast that was, and how much memory it takes then.
func measureTeardown(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	if !bed.DUT.Remembers(ctx) {
		return nil, nil
	}
	filled, err := fill(ctx, b, bed)
	if err != nil {
		return nil, err
	}
	full, err := timeReset(ctx, bed.DUT)
	if err != nil {
		return nil, err
	}
	n, err := bed.DUT.Device.Count(ctx)
	if err != nil && !errors.Is(err, bench.ErrUnsupported) {
		return nil, fmt.Errorf("count the sessions of %s: %w", bed.DUT.Name, err)
	}
	bed.Gates.Require("deleted", n == 0, "%d sessions are left", n)
	empty, err := timeReset(ctx, bed.DUT)
	if err != nil {
		return nil, err
	}
	bed.Gates.Require("longer", full > empty, "it took %s to delete %d sessions, and %s to delete none: use more --sessions", full, filled.sessions, empty)
	return append([]bench.Measure{
		{Metric: "teardown", Unit: bench.PerSecond, Value: float64(filled.sessions) / (full - empty).Seconds()},
		{Metric: "teardown_time", Unit: "ms", Value: full.Seconds() * 1e3},
		{Metric: "teardown_time_empty", Unit: "ms", Value: empty.Seconds() * 1e3},
	}, filled.measures...), nil
}

// filled is a table with sessions, and what was seen of them.
type filled struct {
	sessions int
	measures []bench.Measure
}

// fill gives a device all sessions: in the paced set-up at a rate that is safe, which
// says nothing of how fast the device is.
func fill(ctx context.Context, b *bench.Bench, bed *bench.Bed) (f filled, err error) {
	if b.Mode == bench.Paced {
		if err := bed.Sessions.Prepare(ctx); err != nil {
			return f, err
		}
		f.sessions, err = bed.Tester.Seen()
	} else {
		var o trafficgen.Outcome
		watched := bed.Sessions.Watch(ctx)
		if o, err = bed.Sessions.Establish(ctx, trafficgen.Plan{}); err == nil {
			f.sessions = int(o.Received())
			f.measures = append(f.measures, bench.Measure{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate()})
		}
		watched()
	}
	if err != nil {
		return f, err
	}
	memory, err := bed.DUT.Device.Memory(ctx)
	switch {
	case errors.Is(err, bench.ErrUnsupported):
		return f, nil
	case err != nil:
		return f, fmt.Errorf("memory of %s: %w", bed.DUT.Name, err)
	}
	f.measures = append(f.measures, bench.Measure{Metric: "memory", Unit: "bytes per session", Value: float64(memory) / float64(max(f.sessions, 1))})
	return f, nil
}

func timeReset(ctx context.Context, dut *bench.DUT) (time.Duration, error) {
	begun := time.Now()
	err := dut.Reset(ctx)
	return time.Since(begun), err
}

var natMemory = bench.Scenario{
	Name:    "nat44-memory",
	About:   "bytes per session, with the table's fixed part and without",
	Devices: natDevices,
	Modes:   fullLoad,
	Run:     func(ctx context.Context, b *bench.Bench) error { return compareNAT(ctx, b, false, measureMemory) },
}

// measureMemory asks the device for its memory before and after all sessions are
// established.
func measureMemory(ctx context.Context, _ *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	before, err := bed.DUT.Device.Memory(ctx)
	if errors.Is(err, bench.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("memory of %s: %w", bed.DUT.Name, err)
	}
	o, err := bed.Sessions.Establish(ctx, trafficgen.Plan{})
	if err != nil {
		return nil, err
	}
	after, err := bed.DUT.Device.Memory(ctx)
	if err != nil {
		return nil, fmt.Errorf("memory of %s: %w", bed.DUT.Name, err)
	}
	bed.Gates.Untimed()
	sessions := float64(max(o.Received(), 1))
	return []bench.Measure{
		{Metric: "memory", Unit: "bytes per session", Value: float64(after) / sessions},
		{Metric: "memory_growth", Unit: "bytes per session", Value: float64(after-before) / sessions},
	}, bed.DUT.Reset(ctx)
}

var sessionMemory = bench.Scenario{
	Name:    "session-memory",
	About:   "bytes per session in tables for 0.1 to 16 million (Sharma Table 13)",
	Devices: []string{"iptables", "realmgate"},
	Modes:   fullLoad, Sessions: 1_000_000, Repeat: 1,
	Run: func(ctx context.Context, b *bench.Bench) error {
		sizes := points(b, []int{100, 1000}, []int{100_000, 1_000_000}, []int{1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000})
		return sweep(ctx, b, sizes, func(size int) bench.Comparison {
			flows, pool := bench.FlowsFor(size, b.Hosts)
			return bench.Comparison{
				Setup: bench.Setup{Sessions: flows.Count(), Timeout: natTimeout, NAT: pool}, Flows: flows, Parameters: map[string]float64{"sessions": float64(size)},
				Measure: func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) { return measureMemory(ctx, b, bed) },
			}
		})
	},
}

var natCapacity = bench.Scenario{
	Name:     "nat44-capacity",
	About:    "sessions that fit a table set up for --sessions of them (RFC 9693 table capacity)",
	Devices:  natDevices,
	Modes:    eitherMode,
	External: true, Emptied: true,
	Run: func(ctx context.Context, b *bench.Bench) error {
		b.Note("capacity is the highest number that a binary search found to fit; its bounds lie within %g %% of each other in the end", 100*method.Strict().Width)
		c := natComparison(b)
		c.Flows, c.Setup.NAT = bench.FlowsFor(min(overfill*b.Sessions, trafficgen.MaxFrames), b.Hosts)
		c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			return measureCapacity(ctx, b, bed)
		}
		b.Expect((b.Repeat + 1) * (len(b.Devices) + 1))
		return b.Compare(ctx, c)
	},
}

const (
	overfill  = 4   // as many sessions are tried as fit the table by its size
	collapsed = 0.5 // of the rate with fewer sessions: the table is as good as full

	tellingTime = 10 * time.Millisecond // a rate over less may be half for any reason
)

// measureCapacity doubles the number of sessions until the table refuses some, or
// takes them at less than half the rate, and goes on with a binary search (RFC 9693,
// connection tracking table capacity). What is counted is what the device has: some make room for a new
// session by dropping an old one. In the paced set-up it is offered them at a rate at
// which it takes the first number.
func measureCapacity(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	if !bed.DUT.Remembers(ctx) {
		return nil, nil
	}
	rates := bench.Series{DUT: bed.DUT.Name, Plot: "rate by sessions", X: "sessions", Y: "new sessions, 1/s"}
	var last float64 // rate at the last number that fitted
	rate, err := safeRate(ctx, b, bed.Sessions)
	if err != nil {
		return nil, err
	}
	search := method.Search{
		Goal: method.Strict(), Least: 1, Most: float64(bed.Tester.Flows.Count()),
		Start: float64(max(b.Sessions/overfill, 1)), Stride: 2,
	}
	found, err := search.Run(func(load float64) (seen method.Observation, err error) {
		err = bed.Gates.Try(func() error {
			if err := bed.DUT.Reset(ctx); err != nil {
				return err
			}
			o, sessions, err := bed.Sessions.Overfill(ctx, trafficgen.Plan{Frames: int(load), Rate: rate})
			if err != nil {
				return err
			}
			seen.Loss = 1 - float64(sessions)/float64(max(o.Sent, 1))
			switch {
			case seen.Loss > 0 || o.Elapsed < tellingTime:
			case o.Rate() < collapsed*last:
				seen.Loss = 1
			default:
				last = o.Rate()
			}
			rates.Points = append(rates.Points, [2]float64{float64(o.Sent), o.Rate()})
			return nil
		})
		return seen, err
	})
	if err != nil {
		return nil, err
	}
	b.Plot(rates)
	return []bench.Measure{{Metric: "capacity", Unit: "sessions", Value: float64(int(found.Lower))}}, bed.DUT.Reset(ctx)
}

// safeRate is one at which the device takes as many sessions as the search begins with;
// 0 is full load.
func safeRate(ctx context.Context, b *bench.Bench, sessions *bench.Sessions) (float64, error) {
	if b.Mode != bench.Paced {
		return 0, nil
	}
	return sessions.PrepareSome(ctx, max(b.Sessions/overfill, 1))
}
