package scenario

import (
	"context"
	"runtime"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

var cpuPinning = bench.Scenario{
	Name:     "cpu-pinning",
	About:    "tester and device on one CPU or two, pinned or wherever the kernel puts them (Sharma Table 17)",
	Devices:  []string{"conntrack", "iptables", "realmgate"},
	Modes:    []bench.Mode{bench.SelfClocked},
	Sessions: 100_000,
	Repeat:   3,
	Run:      runCPUPinning,
}

// Table 17 has loads of 8 and 16.
const (
	// threadWindow is half a veth's queue: threads lose nothing then.
	threadWindow = 128
)

// place is where tester and device work, with so many sessions a bucket.
type place struct {
	load    float64
	pinned  float64 // the parameter
	tester  int     // CPU
	threads bool
	device  int // CPU of the threads
}

func runCPUPinning(ctx context.Context, b *bench.Bench) error {
	b.Note("with pinned 1 the tester stays on its CPU, with 0 it is where the kernel puts it, and the device works where the tester is; "+
		"threaded is with the device in kernel threads, pinned to another CPU or not: %d frames are under way at most, so that none is lost, "+
		"and the slower of the two sets the rate", threadWindow)
	places := []place{
		{pinned: 0, tester: trafficgen.AnyCPU},
		{pinned: 1, tester: b.CPU},
	}
	if runtime.NumCPU() > 1 {
		places = append(places,
			place{pinned: 0, tester: trafficgen.AnyCPU, threads: true, device: netns.AnyCPU},
			place{pinned: 1, tester: b.CPU, threads: true, device: b.DeviceCPU()})
	} else {
		b.Note("this machine has one CPU: the variants with threads are left out")
	}
	var list []bench.Comparison
	cpu := b.CPU
	defer func() { b.CPU = cpu }()
	b.Expect((b.Repeat + 1) * (len(b.Devices) + 2) * len(places))
	plain := func(m bench.Model) bool { return m.Name == "route" || m.Name == "conntrack" }
	for _, p := range places {
		for _, load := range points(b, []float64{8}, []float64{8}, []float64{8, 16}) {
			for _, translates := range []bool{false, true} {
				p.load = load
				c := pinningComparison(b, p, translates)
				c.Devices = slices.DeleteFunc(slices.Clone(b.Devices), func(m bench.Model) bool { return plain(m) == translates })
				if len(c.Devices) > 0 {
					list = append(list, c)
				}
			}
		}
	}
	return b.Sweep(ctx, list)
}

func pinningComparison(b *bench.Bench, p place, translates bool) bench.Comparison {
	c := natComparison(b)
	c.Setup.HashSize = max(1, int(float64(c.Flows.Count())/p.load))
	if !translates {
		c.Setup.NAT, c.Setup.Track = trafficgen.Addresses{}, true
	}
	c.Parameters = map[string]float64{"pinned": p.pinned, "load": p.load}
	c.Apart = true // where its interfaces have threads they keep them
	c.Before = func() error {
		b.CPU = p.tester
		return nil
	}
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) { return measurePlaced(ctx, bed, p) }
	return c
}

// measurePlaced is what Table 17 has: sessions created, and reused.
func measurePlaced(ctx context.Context, bed *bench.Bed, p place) ([]bench.Measure, error) {
	window := 0
	if p.threads {
		// A device that was started anew has new queues.
		if err := bed.Rig.Thread(p.device); err != nil {
			return nil, err
		}
		window = threadWindow
	}
	first, err := bed.Sessions.Establish(ctx, trafficgen.Plan{Window: window})
	if err != nil {
		return nil, err
	}
	further, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: furtherFrames(bed.Tester.Flows.Count()), Direction: trafficgen.Both, Random: true, Window: window}, false)
	if err != nil {
		return nil, err
	}
	measures := []bench.Measure{
		{Metric: "rate", Unit: bench.PerSecond, Value: first.Rate()},
		{Metric: "rate_reuse", Unit: bench.PerSecond, Value: further.Rate()},
	}
	if p.threads { // 1/rate is no cost where two CPUs work at once
		measures = []bench.Measure{
			{Metric: "threaded", Unit: "sessions/s", Value: first.Rate()},
			{Metric: "threaded_reuse", Unit: "packets/s", Value: further.Rate()},
		}
	}
	return measures, bed.DUT.Reset(ctx)
}
