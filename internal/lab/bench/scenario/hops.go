package scenario

import (
	"context"
	"fmt"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/nf"
)

var chainHops = bench.Scenario{
	Name:    "chain-hops",
	About:   "what a function adds that does nothing, in chains of 1 to 8",
	Devices: []string{"realmgate"}, // its chains alone: no traffic is sent
	Repeat:  20,
	Run:     runHops,
}

// A trial runs each chain in slices, in turns with the others, and takes the median of
// their differences to the slice without functions just before: the machine's speed
// changes from one millisecond to another.
const (
	hopSlices     = 21
	hopTimes      = 200_000 // some milliseconds
	smokeHopTimes = 1000
)

// hopLengths begin with the chain that the others are compared with.
var hopLengths = []int{0, 1, 2, 4, 8}

func runHops(ctx context.Context, b *bench.Bench) error {
	b.Note("functions that only say continue, and are counted as any; the kernel's test run enters each chain %d times in a row, on one CPU and with everything "+
		"in its caches; its programs are loaded anew for each round. chain is the time of all, and hop that of a function: the chain's less that of one without functions, by their number", hopTimes)
	kinds := []nf.HopKind{nf.Inlined, nf.Own}
	b.Expect((b.Repeat + 1) * len(kinds))
	for _, kind := range kinds {
		if err := compareHops(ctx, b, kind); err != nil {
			return err
		}
	}
	return nil
}

func compareHops(ctx context.Context, b *bench.Bench, kind nf.HopKind) error {
	parameters := make([]map[string]float64, len(hopLengths))
	for i, length := range hopLengths {
		parameters[i] = map[string]float64{"functions": float64(length)}
	}
	return b.Alone(ctx, b.Devices[0], parameters, func(gates *bench.Gates) ([][]bench.Measure, error) {
		// Anew for each trial: where in memory the kernel puts a program changes what it takes.
		hops, err := nf.NewHops(kind, hopLengths)
		if err != nil {
			return nil, fmt.Errorf("compile chains: %w", err)
		}
		defer hops.Close()
		return measureHops(b, gates, kind, hops)
	})
}

func measureHops(b *bench.Bench, gates *bench.Gates, kind nf.HopKind, hops *nf.Hops) ([][]bench.Measure, error) {
	times := points(b, []int{smokeHopTimes}, []int{hopTimes}, []int{hopTimes})[0]
	whole, each := make([][]float64, len(hopLengths)), make([][]float64, len(hopLengths))
	for range hopSlices {
		var empty float64
		for i, length := range hopLengths {
			ns, err := runCounted(gates, hops, length, times)
			if err != nil {
				return nil, err
			}
			if whole[i] = append(whole[i], ns); length == 0 {
				empty = ns
			} else {
				each[i] = append(each[i], (ns-empty)/float64(length))
			}
		}
	}
	measures := make([][]bench.Measure, len(hopLengths))
	for i, length := range hopLengths {
		measures[i] = []bench.Measure{{Metric: "chain_" + string(kind), Unit: "ns", Value: method.Quantile(whole[i], 0.5)}}
		if length > 0 {
			measures[i] = append(measures[i], bench.Measure{Metric: "hop_" + string(kind), Unit: "ns", Value: method.Quantile(each[i], 0.5)})
		}
	}
	return measures, nil
}

// runCounted wants the chain's last function to have been asked each time: by a run that
// a signal ended, too, which begins anew.
func runCounted(gates *bench.Gates, hops *nf.Hops, length, times int) (ns float64, err error) {
	before, err := hops.Asked(length)
	if err != nil {
		return 0, err
	}
	if ns, err = hops.Run(length, times); err != nil {
		return 0, err
	}
	after, err := hops.Asked(length)
	if length > 0 {
		gates.Require("asked", after-before >= uint64(times), "the last of %d functions was asked %d times of %d", length, after-before, times)
	}
	return ns, err
}
