package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var asked = bench.Scenario{
	Name:     "ask",
	About:    "flows of 100 packets that a program decides about: by the first packet, or by each",
	Devices:  []string{"realmgate-ask", "realmgate", "nfqueue-each", "nfqueue", "iptables"},
	Modes:    []bench.Mode{bench.SelfClocked},
	Sessions: 1_500, // of a /24 no more is heard than 2,048 frames in 268 ms (internal/nf/ask/ask.bpf.c)
	Run:      runAsk,
}

const (
	askPackets = 100 // of a flow
	askHosts   = 20  // so that none has more flows waiting than one source may
	askWindow  = 256 // flows that wait at a time: half of what those of a /24 may (internal/ask/room.go)
	smokeAsk   = 3
)

func runAsk(ctx context.Context, b *bench.Bench) error {
	b.Note("each session is new, and %d packets follow its first one. realmgate-ask hands the first packet to a program, nfqueue too, by marks of connections, and nfqueue-each "+
		"every packet. The programs pass all, on another CPU than the tester where there is one, and %d packets wait for them. rate is of first packets, rate_alone of those that come one at a "+
		"time, rate_later of the %[1]d. flow is the time of a flow: of its first packet, and of all that follow", askPackets-1, askWindow)
	b.Hosts = max(b.Hosts, askHosts)
	c := natComparison(b)
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) { return measureAsked(ctx, b, bed) }
	expect(b, 1)
	return b.Compare(ctx, c)
}

func measureAsked(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
	alone, err := bed.Sessions.Establish(ctx, trafficgen.Plan{Window: 1, Batch: 1})
	if err != nil {
		return nil, err
	}
	if err := bed.DUT.Reset(ctx); err != nil {
		return nil, err
	}
	first, err := bed.Sessions.Establish(ctx, trafficgen.Plan{Window: askWindow})
	if err != nil {
		return nil, err
	}
	rounds := points(b, []int{smokeAsk}, []int{askPackets - 1}, []int{askPackets - 1})[0]
	flows := bed.Tester.Flows.Count()
	later, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: rounds * flows, Direction: trafficgen.Forward, Random: true}, false)
	if err != nil {
		return nil, err
	}
	flow := 1e9/first.Rate() + (askPackets-1)*1e9/later.Rate()
	return []bench.Measure{
		{Metric: "rate", Unit: bench.PerSecond, Value: first.Rate()}, {Metric: "rate_alone", Unit: bench.PerSecond, Value: alone.Rate()},
		{Metric: "rate_later", Unit: bench.PerSecond, Value: later.Rate()}, {Metric: "flow", Unit: "ns", Value: flow},
	}, bed.DUT.Reset(ctx)
}
