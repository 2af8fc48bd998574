package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// points picks the points of a sweep: few for a smoke run, some that show the
// curve in the quick profile, and those of the source for the others.
func points[T any](b *bench.Bench, smoke, quick, source []T) []T {
	switch {
	case b.Smoke:
		return smoke
	case b.Profile == bench.Quick:
		return quick
	default:
		return source
	}
}

// expect announces comparisons of all devices and the control.
func expect(b *bench.Bench, comparisons int) {
	b.Expect(comparisons * (b.Repeat + 1) * (len(b.Devices) + 1))
}

// sweep compares all devices at several points, which take turns.
func sweep[T any](ctx context.Context, b *bench.Bench, points []T, at func(T) bench.Comparison) error {
	expect(b, len(points))
	comparisons := make([]bench.Comparison, len(points))
	for i, p := range points {
		comparisons[i] = at(p)
	}
	return b.Sweep(ctx, comparisons)
}

// measureSessions is a trial of what stateful devices do: a first packet of every
// session, one back, which shows that the device has them all, and then packets of
// these both ways, in random order.
func measureSessions(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
	first, err := bed.Sessions.Establish(ctx, trafficgen.Plan{})
	if err != nil {
		return nil, err
	}
	n := bed.Tester.Flows.Count()
	if _, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: n, Direction: trafficgen.Reverse, VerifyEvery: 1}, false); err != nil {
		return nil, err
	}
	further, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: furtherFrames(n), Direction: trafficgen.Both, Random: true}, false)
	if err != nil {
		return nil, err
	}
	return []bench.Measure{
		{Metric: "rate", Unit: bench.PerSecond, Value: first.Rate()},
		{Metric: "rate_reuse", Unit: bench.PerSecond, Value: further.Rate()},
	}, bed.DUT.Reset(ctx)
}

// furtherFrames is enough for a few hundredths of a second at least.
func furtherFrames(sessions int) int { return max(20_000, min(4*sessions, 200_000)) }
