package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// RFC 8219 section 7.2 asks for 500 tagged frames at least; more make the highest
// percentiles steadier.
const (
	leastTagged = 500
	aimTagged   = 1 << 13
)

var (
	natLatency = delayScenario("nat44-latency", "delay of frames through NAT44, median and 99.9th percentile (RFC 8219 latency)", measureLatency)
	natPDV     = delayScenario("nat44-pdv", "variation of the delay through NAT44, D99.9 - Dmin (RFC 8219, RFC 5481)", measurePDV)
)

func delayScenario(name, about string, m func(trafficgen.Latency) []bench.Measure) bench.Scenario {
	return bench.Scenario{
		Name: name, About: about, Devices: natDevices, Modes: eitherMode, External: true, Directed: true, Rated: true,
		Run: func(ctx context.Context, b *bench.Bench) error {
			if b.Mode == bench.SelfClocked {
				b.Note("delays are under full load: tester and device take turns, so that a frame also waits for the others of its batch")
			} else if b.Rate == 0 {
				b.Note("delays are at the throughput of each device (RFC 2544 section 26.2); --rate sets one for all")
			}
			return compareNAT(ctx, b, false, func(ctx context.Context, b *bench.Bench, bed *bench.Bed) ([]bench.Measure, error) {
				latency, err := measureDelay(ctx, b, bed, name == "nat44-pdv")
				if err != nil {
					return nil, err
				}
				return m(latency), bed.DUT.Reset(ctx)
			})
		},
	}
}

// measureDelay sends frames of which every one or some carry the time.
func measureDelay(ctx context.Context, b *bench.Bench, bed *bench.Bed, tagAll bool) (trafficgen.Latency, error) {
	if err := bed.Sessions.Prepare(ctx); err != nil {
		return trafficgen.Latency{}, err
	}
	rate, err := delayRate(ctx, b, bed)
	if err != nil {
		return trafficgen.Latency{}, err
	}
	p := bed.Tester.Load(rate)
	p.StampEvery = 1
	for !tagAll && p.Frames/(2*p.StampEvery) >= aimTagged {
		p.StampEvery *= 2
	}
	var o trafficgen.Outcome
	err = bed.Gates.Try(func() (err error) {
		if b.Mode == bench.SelfClocked {
			o, err = bed.Tester.FullLoad(ctx, p)
		} else if o, err = bed.Tester.Run(ctx, p, true); err == nil {
			bed.Gates.Require("complete", o.LossRatio() <= b.Search.Loss, "%.3g %% of the frames lost at %.0f/s", 100*o.LossRatio(), rate)
		}
		bed.Gates.Require("tagged", o.Latency.Count() >= leastTagged, "%d frames came with the time in them", o.Latency.Count())
		return err
	})
	b.Plot(cumulative(bed.DUT.Name, o.Latency))
	return o.Latency, err
}

// delayRate is 0 for full load. A device's throughput is looked for once.
func delayRate(ctx context.Context, b *bench.Bench, bed *bench.Bed) (float64, error) {
	switch known := bed.Search.Known(throughput); {
	case b.Mode == bench.SelfClocked:
		return 0, nil
	case b.Rate > 0:
		return b.Rate, nil
	case known > 0:
		return known, nil
	}
	_, err := searchThroughput(ctx, bed)
	return max(bed.Search.Known(throughput), leastDelayRate), err
}

// leastDelayRate is for a device in which no rate passed, which a gate tells.
const leastDelayRate = 1000

func measureLatency(l trafficgen.Latency) []bench.Measure {
	return []bench.Measure{
		{Metric: "latency_median", Unit: "ns", Value: float64(l.Quantile(0.5))},
		{Metric: "latency_p99.9", Unit: "ns", Value: float64(l.Quantile(0.999))},
	}
}

func measurePDV(l trafficgen.Latency) []bench.Measure {
	return []bench.Measure{
		{Metric: "pdv", Unit: "ns", Value: float64(l.Quantile(0.999) - l.Quantile(0))},
		{Metric: "delay_min", Unit: "ns", Value: float64(l.Quantile(0))},
	}
}

// cumulative is the share of frames that were delayed no longer.
func cumulative(device string, l trafficgen.Latency) bench.Series {
	s := bench.Series{DUT: device, Plot: "delay", X: "delay, µs", Y: "share of frames"}
	var seen uint64
	for bucket, n := range l.Buckets {
		if seen += n; n > 0 {
			s.Points = append(s.Points, [2]float64{float64(trafficgen.BucketStart(bucket)) / 1e3, float64(seen) / float64(l.Count())})
		}
	}
	return s
}
