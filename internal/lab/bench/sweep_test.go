package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/test/lab"
)

// Points of a sweep take turns within a round, each with its control, and in another
// order in each: what the machine does from round to round hits all alike.
func TestPointsTakeTurns(t *testing.T) {
	b := &Bench{Options: optionsFor(3, idleModel("a")), lab: lab.New(t, "turns"), directory: t.TempDir()}
	flows, _ := FlowsFor(b.Sessions, b.Hosts)
	var order []string
	speed := 1.0 // of the machine, which becomes slower from round to round
	var comparisons []Comparison
	for _, x := range []float64{1, 2, 4} {
		comparisons = append(comparisons, Comparison{
			Setup: Setup{Sessions: int(x)}, Flows: flows, Parameters: map[string]float64{"x": x},
			Before: func() error { order = append(order, fmt.Sprint(x)); return nil },
			Measure: func(_ context.Context, bed *Bed) ([]Measure, error) {
				speed *= 0.99
				rate := 1e6 * speed
				if !bed.DUT.null {
					rate /= 1 + x
				}
				return []Measure{{Metric: "rate", Unit: PerSecond, Value: rate}}, nil
			},
		})
	}
	if err := b.Sweep(t.Context(), comparisons); err != nil {
		t.Fatal(err)
	}
	order = order[len(comparisons):] // what was before the devices were brought up
	const each = 2 * 3               // trials of a round
	if len(order) != 4*each {
		t.Fatalf("%d trials: %q", len(order), order)
	}
	different := map[string]bool{}
	for round := range slices.Chunk(order, each) {
		different[fmt.Sprint(round)] = true
		if points := slices.Compact(slices.Clone(round)); len(points) != 3 {
			t.Errorf("a round has the points %q", round)
		}
	}
	if len(different) < 2 {
		t.Errorf("all rounds have their points in one order: %q", order)
	}
	for _, r := range b.Report.Results {
		if len(r.Trials) != 3 {
			t.Errorf("%s of %s at %v: %d trials", r.Metric, r.DUT, r.Parameters, len(r.Trials))
		}
		if r.Sweep != 1 {
			t.Errorf("%s of %s at %v is of sweep %d", r.Metric, r.DUT, r.Parameters, r.Sweep)
		}
	}
}

// pausing is a device with a process of its own.
type pausing struct {
	idle
	runs *bool
}

func (p pausing) Up(context.Context, *Rig, Setup) error { *p.runs = true; return nil }
func (p pausing) Pause() error                          { *p.runs = false; return nil }
func (p pausing) Resume() error                         { *p.runs = true; return nil }

// While a point has its turn the devices of the others are paused.
func TestOnlyTheDevicesOfAPointRun(t *testing.T) {
	var all []*bool
	m := Model{Name: "a", New: func() Device { all = append(all, new(bool)); return pausing{runs: all[len(all)-1]} }}
	b := &Bench{Options: optionsFor(2, m), lab: lab.New(t, "pause"), directory: t.TempDir()}
	running := func() (n int) {
		for _, runs := range all {
			if *runs {
				n++
			}
		}
		return n
	}
	flows, _ := FlowsFor(b.Sessions, b.Hosts)
	var comparisons []Comparison
	for _, x := range []int{1, 2, 3} {
		comparisons = append(comparisons, Comparison{Setup: Setup{Sessions: x}, Flows: flows, Measure: func(_ context.Context, bed *Bed) ([]Measure, error) {
			if p, ok := bed.DUT.Device.(pausing); running() != 1 || ok && !*p.runs {
				t.Errorf("%d of 3 devices run in a trial of %s, its own: %t", running(), bed.DUT.Name, ok && *p.runs)
			}
			return []Measure{{Metric: "rate", Unit: PerSecond, Value: 1}}, nil
		}})
	}
	if err := b.Sweep(t.Context(), comparisons); err != nil || len(all) != 3 {
		t.Errorf("%d devices: %v", len(all), err)
	}
}

// Points that are set up alike have their devices in common, and each its own flows.
func TestPointsShareTheirDevices(t *testing.T) {
	b := &Bench{Options: optionsFor(1, idleModel("a")), lab: lab.New(t, "turns"), directory: t.TempDir()}
	beds := map[*Bed]bool{}
	var flows []int
	point := func(sessions int, setup Setup) Comparison {
		f, _ := FlowsFor(sessions, 1)
		return Comparison{Setup: setup, Flows: f, Measure: func(_ context.Context, bed *Bed) ([]Measure, error) {
			beds[bed] = true
			if !bed.DUT.null {
				flows = append(flows, bed.Tester.Flows.Count())
			}
			return []Measure{{Metric: "rate", Unit: PerSecond, Value: 1}}, nil
		}}
	}
	if err := b.Sweep(t.Context(), []Comparison{point(10, Setup{}), point(20, Setup{}), point(30, Setup{Mark: true})}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(flows)
	if len(beds) != 4 || !slices.Equal(slices.Compact(flows), []int{10, 20, 30}) {
		t.Errorf("%d devices, flows %v", len(beds), flows)
	}
}

// A note about a device says for which points of a sweep it was, unless it was for all.
func TestPointsOfABed(t *testing.T) {
	t.Parallel()
	one, both := &Bed{}, &Bed{}
	points := []*point{
		{Comparison: Comparison{Parameters: map[string]float64{"rules": 16}}, beds: []*Bed{one, both}},
		{Comparison: Comparison{Parameters: map[string]float64{"rules": 65536, "load": 0.5}}, beds: []*Bed{both}},
	}
	if got := pointsOf(one, points); got != " at rules 16" {
		t.Errorf("one point: %q", got)
	}
	if got := pointsOf(both, points); got != "" {
		t.Errorf("all points: %q", got)
	}
	if got := points[1].name(); got != "load 0.5, rules 65536" {
		t.Errorf("two parameters: %q", got)
	}
}
