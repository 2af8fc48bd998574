package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Tuner is a Device that needs settings of the whole machine, which another point of a
// sweep may have changed.
type Tuner interface {
	// Tune sets them again.
	Tune() error
}

// point is a comparison of a sweep, with its devices.
type point struct {
	Comparison
	beds    []*Bed
	groups  [][]*Bed // of those that are in turns with each other
	results *collector
}

// Sweep is Compare at several points, which take turns within each round: what the
// machine does from minute to minute hits all points alike, and a trial of one point
// has neighbours in time at all others. Points of one Setup share their devices; all
// are up from the first round to the last.
func (b *Bench) Sweep(ctx context.Context, comparisons []Comparison) (err error) {
	points, beds, err := b.lay(ctx, comparisons)
	defer func() {
		for _, bed := range beds {
			err = errors.Join(err, bed.down())
		}
	}()
	if err != nil {
		return err
	}
	b.sweeps++
	err = b.rounds(ctx, points)
	for _, p := range points { // what was measured until then
		b.finish(p.Comparison, p.results, p.beds)
	}
	for _, bed := range beds {
		bed.Tester.noteLosses(pointsOf(bed, points))
	}
	return err
}

// pointsOf names the points of a sweep that a bed was for, "" where it was for all.
func pointsOf(bed *Bed, points []*point) string {
	var names []string
	for _, p := range points {
		if slices.Contains(p.beds, bed) {
			names = append(names, p.name())
		}
	}
	if len(names) == len(points) {
		return ""
	}
	return " at " + strings.Join(names, "; ")
}

// name has the point's place in the sweep, as "rules 1024".
func (p *point) name() string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(p.Parameters)) {
		list = append(list, fmt.Sprintf("%s %g", key, p.Parameters[key]))
	}
	return strings.Join(list, ", ")
}

// lay brings up the devices of all points.
func (b *Bench) lay(ctx context.Context, comparisons []Comparison) (points []*point, beds []*Bed, err error) {
	if err := b.wantRoom(comparisons); err != nil {
		return nil, nil, err
	}
	for i, c := range comparisons {
		p := &point{Comparison: c, results: newCollector(c.Parameters)}
		points = append(points, p)
		if known := sameSetup(comparisons[:i], c); known >= 0 {
			p.beds = points[known].beds
		} else {
			p.beds, err = b.bringUp(ctx, c, mostFlows(comparisons[i:], c))
			beds = append(beds, p.beds...)
			if err = errors.Join(err, pause(p.beds)); err != nil {
				return points, beds, err
			}
		}
		p.groups = [][]*Bed{p.beds}
		if c.InTurns && b.Mode == SelfClocked {
			p.groups = neighbours(p.beds)
			b.total += b.Repeat * (len(slices.Concat(p.groups...)) - len(p.beds))
		}
	}
	return points, beds, nil
}

// sameSetup returns which of the comparisons has the same devices as c and sets them up
// alike, or -1.
func sameSetup(comparisons []Comparison, c Comparison) int {
	return slices.IndexFunc(comparisons, func(other Comparison) bool { return alike(other, c) })
}

func alike(a, b Comparison) bool {
	same := func(a, b Model) bool { return a.Name == b.Name }
	return !a.Apart && !b.Apart && reflect.DeepEqual(a.Setup, b.Setup) && reflect.DeepEqual(a.Translating, b.Translating) && slices.EqualFunc(a.Devices, b.Devices, same) &&
		(a.Devices == nil) == (b.Devices == nil)
}

// mostFlows is the comparison with most flows of those that share c's devices.
func mostFlows(comparisons []Comparison, c Comparison) Comparison {
	for _, other := range comparisons {
		if alike(other, c) && other.Flows.Count() > c.Flows.Count() {
			c = other
		}
	}
	return c
}

// bringUp brings up the devices of a comparison, with testers for as many flows as
// another has.
func (b *Bench) bringUp(ctx context.Context, c, most Comparison) (beds []*Bed, err error) {
	if c.Before != nil {
		if err := c.Before(); err != nil {
			return nil, err
		}
	}
	for _, m := range b.models(c) {
		b.tell("bring up " + m.Name)
		bed, err := b.bed(ctx, m, c.setup(m), most.Flows)
		if errors.Is(err, ErrUnsupported) {
			b.Note("%s is left out: %v", m.Name, err)
			continue
		}
		if err != nil {
			return beds, err
		}
		beds = append(beds, bed)
	}
	return beds, nil
}

// setup is what a device is to do.
func (c Comparison) setup(m Model) Setup {
	if m.Translates && c.Translating != nil {
		return *c.Translating
	}
	return c.Setup
}

// rounds gives each point a round that does not count, and then as many as count.
func (b *Bench) rounds(ctx context.Context, points []*point) error {
	most := 0
	for _, p := range points {
		most = max(most, b.Repeat*len(p.groups))
	}
	for round := 0; round <= most; round++ {
		for _, i := range order(round, len(points)) {
			p := points[i]
			if round == 0 && p.Setup.Sessions > mostWarming || round > b.Repeat*len(p.groups) {
				continue
			}
			beds := p.beds
			if round > 0 {
				beds = p.groups[round%len(p.groups)]
			}
			for _, bed := range beds {
				bed.Tester.turns = round > 0 && p.InTurns && b.Mode == SelfClocked
			}
			resumed := beds
			if p.Alone {
				resumed = nil
			}
			if err := running(resumed, func() error { return b.round(ctx, p.Comparison, beds, round, p.results) }); err != nil {
				return err
			}
			if round == 1 {
				if err := b.readTuning(p.Parameters); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// running makes a round, in which the devices of a point alone run: each gateway of another
// point would take a fiftieth of a CPU to look through its tables.
func running(beds []*Bed, round func() error) (err error) {
	defer func() { err = errors.Join(err, pause(beds)) }()
	if err := pausers(beds, "resume", Pauser.Resume); err != nil {
		return err
	}
	return round()
}

func pause(beds []*Bed) error { return pausers(beds, "pause", Pauser.Pause) }

// pausers has each device that can be paused do something.
func pausers(beds []*Bed, what string, do func(Pauser) error) (err error) {
	for _, bed := range beds {
		if pauser, ok := bed.DUT.Device.(Pauser); ok {
			if failed := do(pauser); failed != nil {
				err = errors.Join(err, fmt.Errorf("%s %s: %w", what, bed.DUT.Name, failed))
			}
		}
	}
	return err
}

// mostWarming is up to how many sessions a round for warming up is made: beyond
// that it takes minutes, and what is cold at first does not show.
const mostWarming = 4_000_000

// begin gives a bed what is of a comparison alone.
func (b *Bed) begin(c Comparison) error {
	if !b.DUT.External {
		b.Tester.Flows = c.Flows
	}
	if tuner, ok := b.DUT.Device.(Tuner); ok {
		if err := tuner.Tune(); err != nil {
			return fmt.Errorf("tune %s: %w", b.DUT.Name, err)
		}
	}
	if c.Before != nil {
		return c.Before()
	}
	return nil
}
