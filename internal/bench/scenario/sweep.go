package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/trafficgen"
)

// points picks the points of a sweep: few for a smoke run, some that show the
// curve in the quick profile, and those of the source for the RFC one.
func points[T any](b *bench.Bench, smoke, quick, rfc []T) []T {
	switch {
	case b.Smoke:
		return smoke
	case b.Profile == bench.RFC:
		return rfc
	default:
		return quick
	}
}

// expect announces comparisons of all devices and the control.
func expect(b *bench.Bench, comparisons int) {
	b.Expect(comparisons * (b.Repeat + 1) * (len(b.Devices) + 1))
}

// curve is a plot of a metric over a parameter of the sweep.
type curve struct {
	Plot, Metric, Parameter string
	X, Y                    string // what the axes show
}

// addTo adds a curve for each device, from what was measured so far.
func (c curve) addTo(b *bench.Bench) {
	var series []bench.Series
	for _, r := range b.Report.Results {
		x, swept := r.Parameters[c.Parameter]
		if r.Metric != c.Metric || !swept {
			continue
		}
		i := 0
		for i < len(series) && series[i].DUT != r.DUT {
			i++
		}
		if i == len(series) {
			series = append(series, bench.Series{DUT: r.DUT, Plot: c.Plot, X: c.X, Y: c.Y})
		}
		series[i].Points = append(series[i].Points, [2]float64{x, float64(r.Median)})
	}
	b.Report.Series = append(b.Report.Series, series...)
}

// Axes of the plots.
const (
	newSessions = "new sessions per second"
	packets     = "packets per second, both ways"
)

// measureSessions is a trial of what stateful devices do: a first packet of every
// session, one back, which shows that the device has them all, and then packets of
// these both ways, in random order.
func measureSessions(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
	first, err := bed.Establish(ctx, trafficgen.Plan{})
	if err != nil {
		return nil, err
	}
	n := bed.Flows.Count()
	if _, err := bed.Run(ctx, trafficgen.Plan{Frames: n, Direction: trafficgen.Reverse, VerifyEvery: 1}, false); err != nil {
		return nil, err
	}
	further, err := bed.Run(ctx, trafficgen.Plan{Frames: furtherFrames(n), Direction: trafficgen.Both, Random: true}, false)
	if err != nil {
		return nil, err
	}
	return []bench.Measure{
		{Metric: "rate", Unit: bench.PerSecond, Value: first.Rate()},
		{Metric: "rate_reuse", Unit: bench.PerSecond, Value: further.Rate()},
	}, bed.Reset(ctx)
}

// furtherFrames is enough for a few hundredths of a second at least.
func furtherFrames(sessions int) int { return max(20_000, min(4*sessions, 200_000)) }
