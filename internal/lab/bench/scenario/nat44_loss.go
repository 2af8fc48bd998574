package scenario

import (
	"context"
	"errors"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var natLoss = bench.Scenario{
	Name:     "nat44-loss",
	About:    "frames lost by NAT44 at 100 %, 90 % ... 10 % of what the null device passes (RFC 2544 loss rate)",
	Devices:  natDevices,
	Modes:    pacedOnly,
	Sessions: 100_000, // made anew for every trial
	External: true, Directed: true, Rated: true,
	Run: runLoss,
}

// lossMargin is which share of the null device's highest rate is the full load: at
// that rate itself the tester, too, is at its end.
const lossMargin = 0.9

// runLoss compares the devices at each load by itself, in steps of RFC 2544 section
// 26.3: a trial in which something went wrong says nothing about the other loads.
func runLoss(ctx context.Context, b *bench.Bench) error {
	every := []int{100, 90, 80, 70, 60, 50, 40, 30, 20, 10}
	loads := points(b, []int{100, 50}, every, every)
	full := b.Rate
	if full == 0 && b.Null.Name == "" {
		return errors.New("nothing beside the box says what the tester can send: give the full load with --rate")
	}
	if full == 0 {
		highest, err := nullRate(ctx, b)
		if err != nil {
			return err
		}
		full = lossMargin * highest
		b.Note("load is in per cent of %.0f frames/s: %g %% of what the null device passes, so that the tester is not the limit; --rate sets it", full, 100*lossMargin)
	}
	return sweep(ctx, b, loads, func(load int) bench.Comparison {
		c := natComparison(b)
		c.Parameters = map[string]float64{"percent": float64(load)}
		c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			return measureLoss(ctx, bed, full*float64(load)/100)
		}
		return c
	})
}

// nullRate looks for the highest rate that the null device passes: the rate of the
// medium, as it were.
func nullRate(ctx context.Context, b *bench.Bench) (rate float64, err error) {
	devices, repeat := b.Devices, b.Repeat
	defer func() { b.Devices, b.Repeat = devices, repeat }()
	b.Devices, b.Repeat = nil, 1
	c := natComparison(b)
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		if err := bed.Sessions.Prepare(ctx); err != nil {
			return nil, err
		}
		rate, err = searchThroughput(ctx, bed)
		return nil, err
	}
	if err := b.Compare(ctx, c); err != nil {
		return 0, err
	}
	if rate == 0 {
		return 0, errors.New("not even the null device passes a rate: give one with --rate")
	}
	return rate, nil
}

func measureLoss(ctx context.Context, bed *bench.Bed, rate float64) ([]bench.Measure, error) {
	if err := bed.Sessions.Prepare(ctx); err != nil {
		return nil, err
	}
	o, err := bed.Tester.Run(ctx, bed.Tester.Load(rate), true)
	if err != nil {
		return nil, err
	}
	bed.Tester.Offered(o, rate)
	return []bench.Measure{{Metric: "loss", Unit: "%", Value: 100 * o.LossRatio()}}, bed.DUT.Reset(ctx)
}
