package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var hashLoad = bench.Scenario{
	Name:    "hash-load",
	About:   "how full conntrack's hash table is: 0.6 to 19 sessions a bucket (Sharma Table 16, Lencse and Shima Tables I and II)",
	Devices: []string{"iptables", "realmgate"}, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 50_000, Repeat: 2,
	Run: func(ctx context.Context, b *bench.Bench) error {
		factors := points(b, []float64{1, 16}, []float64{0.6, 1, 4, 16, 19},
			[]float64{0.596, 1, 1.192, 2, 2.384, 4, 4.768, 8, 9.537, 16, 19.07})
		b.Note("the kernel has buckets in steps of a page's worth, %d: load is sessions by the buckets in force, the nearest to what the sources have", bucketStep)
		b.Note("the size of realmgate's tables follows from capacity alone: it is there with the same sessions")
		c := natComparison(b)
		var taken []int
		for _, size := range hashSizes(c.Setup.Sessions, factors) {
			n, err := take(b.Host, hashSizePath, size)
			if err != nil {
				return fmt.Errorf("set the number of buckets: %w", err)
			}
			taken = append(taken, n)
		}
		refused := make([]map[string]uint64, len(taken))
		err := sweep(ctx, b, taken, func(buckets int) bench.Comparison {
			c := c
			c.Parameters = map[string]float64{"load": loadFactor(c.Setup.Sessions, buckets)}
			at := map[string]uint64{}
			refused[slices.Index(taken, buckets)] = at
			c.Before = func() error { return b.Host.Set(hashSizePath, strconv.Itoa(buckets)) }
			c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) { return measureFull(ctx, bed, at) }
			return c
		})
		for i, at := range refused {
			for _, device := range slices.Sorted(maps.Keys(at)) {
				b.Note("load %g: %s refused %d of %d sessions: the kernel adds nothing to a bucket of more than 50 to 80 entries (chaintoolong in conntrack -S), and a session has two",
					loadFactor(c.Setup.Sessions, taken[i]), device, at[device], c.Setup.Sessions)
			}
		}
		return err
	},
}

// bucketStep is by how many the kernel rounds up a number of buckets.
var bucketStep = os.Getpagesize() / method.BucketBytes

// hashSizes are the numbers of buckets nearest to those for the load factors, of
// which few sessions tell fewer apart.
func hashSizes(sessions int, factors []float64) (sizes []int) {
	for _, factor := range factors {
		steps := math.Round(float64(sessions) / factor / float64(bucketStep))
		sizes = append(sizes, bucketStep*max(1, int(steps)))
	}
	return slices.Compact(sizes)
}

// loadFactor is that of a table, to three digits.
func loadFactor(sessions, buckets int) float64 {
	load, _ := strconv.ParseFloat(strconv.FormatFloat(float64(sessions)/float64(buckets), 'g', 3, 64), 64) // it was a number
	return load
}

// mostRefused is the share of sessions that a full table may refuse in a valid
// trial.
const mostRefused = 0.01

// measureFull is measureSessions for tables that are too full for some sessions.
// The most that a device refused goes into refused.
func measureFull(ctx context.Context, bed *bench.Bed, refused map[string]uint64) ([]bench.Measure, error) {
	n := bed.Tester.Flows.Count()
	before, err := bed.DUT.Device.Memory(ctx)
	if err != nil && !errors.Is(err, bench.ErrUnsupported) {
		return nil, fmt.Errorf("memory of %s: %w", bed.DUT.Name, err)
	}
	first, counted, err := bed.Sessions.Overfill(ctx, trafficgen.Plan{Frames: n})
	switch {
	case errors.Is(err, bench.ErrUnsupported): // the control
	case err != nil:
		return nil, err
	default:
		bed.Gates.Require("counted", uint64(counted) == first.Received(), "%d frames came, the device counts %d sessions", first.Received(), counted)
	}
	measures, err := growth(ctx, bed.DUT, before, first.Received())
	if err != nil {
		return nil, err
	}
	bed.Gates.Require("complete", float64(first.Lost()) <= mostRefused*float64(n), "%d of %d sessions refused", first.Lost(), n)
	if first.Lost() > refused[bed.DUT.Name] {
		refused[bed.DUT.Name] = first.Lost()
	}
	further, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: furtherFrames(n), Direction: trafficgen.Both, Random: true}, true)
	if err != nil {
		return nil, err
	}
	missing := further.Lost() + further.Missing
	bed.Gates.Require("answered", float64(missing) <= mostRefused*float64(further.Sent), "%d of %d further packets lost or not answered", missing, further.Sent)
	measures = append(measures,
		bench.Measure{Metric: "rate", Unit: bench.PerSecond, Value: first.Rate()},
		bench.Measure{Metric: "rate_reuse", Unit: bench.PerSecond, Value: further.Rate()})
	ended, err := endAll(ctx, bed.DUT, first.Received())
	return append(measures, ended...), err
}

// endAll is the tear-down rate of so many sessions, of a device that has any.
func endAll(ctx context.Context, dut *bench.DUT, sessions uint64) ([]bench.Measure, error) {
	full, err := timeReset(ctx, dut)
	if err != nil || !dut.Remembers(ctx) {
		return nil, err
	}
	empty, err := timeReset(ctx, dut)
	if err != nil || full <= empty { // too few sessions to tell
		return nil, err
	}
	return []bench.Measure{{Metric: "teardown", Unit: "sessions/s", Value: float64(sessions) / (full - empty).Seconds()}}, nil
}

// growth is what the sessions added to the device's memory, if it tells.
func growth(ctx context.Context, dut *bench.DUT, before int64, sessions uint64) ([]bench.Measure, error) {
	after, err := dut.Device.Memory(ctx)
	if errors.Is(err, bench.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("memory of %s: %w", dut.Name, err)
	}
	return []bench.Measure{{Metric: "memory_growth", Unit: "bytes per session", Value: float64(after-before) / float64(max(sessions, 1))}}, nil
}
