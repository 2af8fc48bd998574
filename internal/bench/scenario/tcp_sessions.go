package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/bench"
)

var tcpSessions = bench.Scenario{
	Name:    "tcp-sessions",
	About:   "TCP sessions of ten packets, per second, opened, used and closed",
	Devices: natDevices,
	Modes:   []bench.Mode{bench.SelfClocked},
	Run: func(ctx context.Context, b *bench.Bench) error {
		c := natComparison(b)
		c.Measure = measureTCP
		b.Expect((b.Repeat + 1) * (len(b.Devices) + 1))
		return b.Compare(ctx, c)
	},
}

const tcpWindow = 1024

func measureTCP(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
	o, err := bed.TCPSessions(ctx, tcpWindow)
	if err != nil {
		return nil, err
	}
	return []bench.Measure{
		{Metric: "rate", Unit: bench.PerSecond, Value: float64(bed.Flows.Count()) / o.Elapsed.Seconds()},
		{Metric: "packets", Unit: "packets/s", Value: o.Rate()},
	}, bed.Reset(ctx)
}
