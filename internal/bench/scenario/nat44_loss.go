package scenario

import (
	"context"
	"fmt"

	"github.com/realmgate/realmgate/internal/bench"
)

const lossStep = 10 // per cent of the full rate (RFC 2544 section 26.3)

var natLoss = bench.Scenario{
	Name:    "nat44-loss",
	About:   "frames lost by NAT44 at 100 %, 90 % ... 10 % of what the tester can send (RFC 2544 loss rate)",
	Devices: natDevices,
	Modes:   pacedOnly,
	Run: func(ctx context.Context, b *bench.Bench) error {
		full := b.Rate
		if full == 0 {
			b.Note("100 %% is what the null device passes; --rate sets it")
		}
		return compareNAT(ctx, b, func(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
			return measureLoss(ctx, b, bed, &full)
		})
	},
}

// measureLoss goes through all loads. The first device to be measured is null:
// what it passes is the rate of the medium, as it were.
func measureLoss(ctx context.Context, b *bench.Bench, bed *bench.Bed, full *float64) ([]bench.Measure, error) {
	if err := bed.Prepare(ctx); err != nil {
		return nil, err
	}
	if *full == 0 {
		var err error
		if *full, err = searchThroughput(ctx, bed); err != nil {
			return nil, err
		}
	}
	curve := bench.Series{DUT: bed.Name, Plot: "loss", X: "offered load, 1/s", Y: "frames lost, %"}
	var measures []bench.Measure
	for percent := 100; percent > 0; percent -= lossStep {
		rate := *full * float64(percent) / 100
		var lost float64
		err := bed.Try(func() error {
			o, err := bed.Run(ctx, bed.Load(rate), true)
			lost = 100 * o.LossRatio()
			return err
		})
		if err != nil {
			return nil, err
		}
		measures = append(measures, bench.Measure{Metric: fmt.Sprintf("loss_%d", percent), Unit: "%", Value: lost})
		curve.Points = append(curve.Points, [2]float64{rate, lost})
	}
	b.Plot(curve)
	return measures, bed.Reset(ctx)
}
