package scenario

import (
	"context"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// natTimeout is how long sessions live: longer than any trial (Lencse and Shima).
const natTimeout = 10_000 * time.Second

// natDevices are compared unless others are asked for.
var natDevices = []string{"realmgate", "iptables", "nftables"}

// Set-ups of scenarios.
var (
	eitherMode = []bench.Mode{bench.SelfClocked, bench.Paced}
	fullLoad   = []bench.Mode{bench.SelfClocked}
	pacedOnly  = []bench.Mode{bench.Paced}
)

// measure is one trial of a scenario.
type measure func(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error)

// compareNAT compares devices which translate. inTurns is for what is told by the time
// that a trial's frames take.
func compareNAT(ctx context.Context, b *bench.Bench, inTurns bool, m measure) error {
	c := natComparison(b)
	c.InTurns = inTurns
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) { return m(ctx, b, bed) }
	b.Expect((b.Repeat + 1) * (len(b.Devices) + 1))
	return b.Compare(ctx, c)
}

// natComparison is what the NAT44 scenarios have in common.
func natComparison(b *bench.Bench) bench.Comparison {
	flows, pool := bench.FlowsFor(b.Sessions, b.Hosts)
	if n := flows.Count(); n != b.Sessions {
		b.Note("%d sessions instead of %d: a product of addresses and ports", n, b.Sessions)
	}
	noteSources(b)
	return bench.Comparison{
		Setup: bench.Setup{Sessions: flows.Count(), Timeout: natTimeout, NAT: pool},
		Flows: flows,
	}
}

// perSecond is the main metric of a scenario.
func perSecond(rate float64) []bench.Measure {
	return []bench.Measure{{Metric: "rate", Unit: bench.PerSecond, Value: rate}}
}

var natEstablish = bench.Scenario{
	Name:     "nat44-establish",
	About:    "new sessions per second through NAT44 (RFC 9693 maximum connection establishment rate)",
	Devices:  natDevices,
	Modes:    eitherMode,
	External: true, Emptied: true,
	Run: func(ctx context.Context, b *bench.Bench) error { return compareNAT(ctx, b, true, measureEstablish) },
}

// measureEstablish is phase 1, at full load or at the highest rate at which every
// frame comes, and then one frame back for every session, which validates that the
// device really has it (RFC 9693, validation of connection establishment).
func measureEstablish(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	if b.Mode == bench.Paced {
		return searchEstablish(ctx, b, bed)
	}
	o, err := bed.Sessions.Establish(ctx, trafficgen.Plan{})
	if err != nil {
		return nil, err
	}
	_, err = bed.Tester.Run(ctx, validation(bed.Tester.Flows), false)
	if err != nil {
		return nil, err
	}
	return perSecond(o.Rate()), bed.DUT.Reset(ctx)
}

func searchEstablish(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	phase1 := func(rate float64) (trafficgen.Outcome, error) {
		if err := bed.DUT.Reset(ctx); err != nil {
			return trafficgen.Outcome{}, err
		}
		return bed.Sessions.Establish(ctx, trafficgen.Plan{Rate: rate})
	}
	found, err := bed.Search.EstablishRate("new sessions", phase1)
	if err != nil || found.Lower == 0 {
		return perSecond(0), err
	}
	err = bed.Gates.Try(func() error {
		if _, err := phase1(found.Lower); err != nil {
			return err
		}
		p := validation(bed.Tester.Flows)
		p.Rate = found.Lower
		o, err := bed.Tester.Run(ctx, p, true)
		bed.Gates.Require("validated", float64(o.Lost()) <= b.Search.Loss*float64(o.Sent), "%d of %d sessions did not answer", o.Lost(), o.Sent)
		return err
	})
	if err != nil {
		return nil, err
	}
	return perSecond(bed.Search.Reported(found)), bed.DUT.Reset(ctx)
}

func validation(flows trafficgen.Flows) trafficgen.Plan {
	return trafficgen.Plan{Frames: flows.Count(), Direction: trafficgen.Reverse, VerifyEvery: 1}
}

var natThroughput = bench.Scenario{
	Name:     "nat44-throughput",
	About:    "frames per second of established sessions through NAT44, both ways or either",
	Devices:  natDevices,
	Modes:    eitherMode,
	External: true, Directed: true,
	Run: func(ctx context.Context, b *bench.Bench) error { return compareNAT(ctx, b, true, measureThroughput) },
}

// measureThroughput is phase 2 of RFC 9693, at full load or at the highest rate
// without loss.
func measureThroughput(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	if err := bed.Sessions.Prepare(ctx); err != nil {
		return nil, err
	}
	if b.Mode == bench.Paced {
		rate, err := searchThroughput(ctx, bed)
		if err != nil {
			return nil, err
		}
		return perSecond(rate), bed.DUT.Reset(ctx)
	}
	o, err := bed.Tester.FullLoad(ctx, bed.Tester.Load(0))
	if err != nil {
		return nil, err
	}
	return perSecond(o.Rate()), bed.DUT.Reset(ctx)
}

const throughput = "frames"

func searchThroughput(ctx context.Context, bed *bench.Bed) (float64, error) {
	found, err := bed.Search.Rate(throughput, func(rate float64) (trafficgen.Outcome, error) {
		return bed.Tester.Run(ctx, bed.Tester.Load(rate), true)
	})
	return bed.Search.Reported(found), err
}
