package scenario

import (
	"context"
	"time"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/trafficgen"
)

// natTimeout is how long sessions live: longer than any trial (Lencse and Shima).
const natTimeout = 10_000 * time.Second

// natDevices are compared unless others are asked for.
var natDevices = []string{"realmgate", "iptables", "nftables"}

// natComparison is what the NAT44 scenarios have in common.
func natComparison(b *bench.Bench) bench.Comparison {
	flows, pool := bench.FlowsFor(b.Sessions)
	if n := flows.Count(); n != b.Sessions {
		b.Note("%d sessions instead of %d: a product of addresses and ports", n, b.Sessions)
	}
	return bench.Comparison{
		Setup: bench.Setup{Sessions: flows.Count(), Timeout: natTimeout, NAT: pool},
		Flows: flows,
	}
}

var natEstablish = bench.Scenario{
	Name:    "nat44-establish",
	About:   "new sessions per second through NAT44 (RFC 9693 maximum connection establishment rate)",
	Devices: natDevices,
	Modes:   []bench.Mode{bench.SelfClocked},
	Run: func(ctx context.Context, b *bench.Bench) error {
		c := natComparison(b)
		c.Measure = measureEstablish
		b.Expect((b.Repeat + 1) * (len(b.Devices) + 1))
		return b.Compare(ctx, c)
	},
}

// measureEstablish is phase 1, and then one frame back for every session, which
// validates that the device really has it (RFC 9693 section 4.5.2).
func measureEstablish(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
	o, err := bed.Establish(ctx, trafficgen.Plan{})
	if err != nil {
		return nil, err
	}
	_, err = bed.Run(ctx, trafficgen.Plan{Frames: bed.Flows.Count(), Direction: trafficgen.Reverse, VerifyEvery: 1}, false)
	if err != nil {
		return nil, err
	}
	return []bench.Measure{{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate()}}, bed.Reset(ctx)
}

var natThroughput = bench.Scenario{
	Name:    "nat44-throughput",
	About:   "frames per second of established sessions through NAT44, both ways or either",
	Devices: natDevices,
	Modes:   []bench.Mode{bench.SelfClocked},
	Run: func(ctx context.Context, b *bench.Bench) error {
		c := natComparison(b)
		c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			return measureThroughput(ctx, b, bed)
		}
		b.Expect((b.Repeat + 1) * (len(b.Devices) + 1))
		return b.Compare(ctx, c)
	},
}

// measureThroughput is phase 2 of RFC 9693: flows drawn at random, none new.
func measureThroughput(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	if _, err := bed.Establish(ctx, trafficgen.Plan{}); err != nil {
		return nil, err
	}
	o, err := bed.Run(ctx, trafficgen.Plan{Frames: throughputFrames(b), Direction: b.Direction, Random: true}, false)
	if err != nil {
		return nil, err
	}
	return []bench.Measure{{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate()}}, bed.Reset(ctx)
}

// throughputFrames is enough for a second or so, and fewer for a smoke run.
func throughputFrames(b *bench.Bench) int {
	if b.Sessions < 100_000 {
		return 4 * b.Sessions
	}
	return 1_000_000
}
