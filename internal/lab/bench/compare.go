package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Comparison is devices side by side.
type Comparison struct {
	Setup      Setup
	Flows      trafficgen.Flows
	Parameters map[string]float64 // of a sweep
	// InTurns sends what Establish and FullLoad send in parts, in turns with other
	// devices.
	InTurns bool
	// Without names, of a device that decides about sessions, the one that is the same
	// without deciding: a metric "rate" of sessions then gives "verdict", too.
	Without map[string]string
	// Measure is one trial: it gives the same metrics each time.
	Measure func(ctx context.Context, bed *Bed) ([]Measure, error)
}

// Compare brings up all devices, the null device with them, and gives each a trial
// that does not count, then Repeat that do, or more of one that is in turns with
// several others: all trials of a round are neighbours in time. Devices that do
// not do what the setup asks are left out, with a note. In rounds of the
// self-clocked set-up a metric "rate" also gives "cost", what the device adds.
func (b *Bench) Compare(ctx context.Context, c Comparison) (err error) {
	if err := wantRoom(b.models(), c.Flows.Count()); err != nil {
		return err
	}
	var beds []*Bed
	defer func() {
		for _, bed := range beds {
			err = errors.Join(err, bed.down())
		}
	}()
	for _, m := range b.models() {
		b.tell("bring up " + m.Name)
		bed, err := b.bed(ctx, m, c.Setup, c.Flows)
		if errors.Is(err, ErrUnsupported) {
			b.Note("%s is left out: %v", m.Name, err)
			continue
		}
		if err != nil {
			return err
		}
		beds = append(beds, bed)
	}
	if err := b.readTuning(c.Parameters); err != nil {
		return err
	}
	results := newCollector(c.Parameters)
	err = b.rounds(ctx, c, beds, results)
	b.finish(c, results, beds) // what was measured until then
	return err
}

func (b *Bench) rounds(ctx context.Context, c Comparison, beds []*Bed, results *collector) error {
	if c.Setup.Sessions <= mostWarming {
		if err := b.round(ctx, c, beds, 0, results); err != nil {
			return err
		}
	}
	groups := [][]*Bed{beds}
	if c.InTurns && b.Mode == SelfClocked {
		groups = neighbours(beds)
		for _, bed := range slices.Concat(groups...) {
			bed.turns = true
		}
		b.total += b.Repeat * (len(slices.Concat(groups...)) - len(beds))
	}
	for round := 1; round <= b.Repeat*len(groups); round++ {
		if err := b.round(ctx, c, groups[round%len(groups)], round, results); err != nil {
			return err
		}
	}
	return nil
}

// mostWarming is up to how many sessions a round for warming up is made: beyond
// that it takes minutes, and what is cold at first does not show.
const mostWarming = 4_000_000

// mostAttempts is how often a trial is made in a round until nothing disturbed it.
// One in which the device failed is not made again: that would pick the lucky ones.
const (
	mostAttempts  = 3
	trialAttempts = 2 // of a trial that takes seconds
)

// trial is a device's in a round. All attempts of a round are reported; round 0 is
// for warming up.
func (b *Bench) trial(ctx context.Context, c Comparison, bed *Bed, round int, results *collector) error {
	b.tell(fmt.Sprintf("round %d, %s", round, bed.Name))
	for range trialAttempts {
		bed.gates = map[string]string{}
		measures, err := c.Measure(ctx, bed)
		if err != nil {
			return err
		}
		if round > 0 {
			results.add(bed, round, measures)
		}
		if round == 0 || !bed.disturbed() {
			break
		}
	}
	b.done++
	return nil
}

// models are the devices with the control, which stands nowhere beside an external
// device.
func (b *Bench) models() []Model {
	if b.Null.Name == "" {
		return b.Devices
	}
	return append([]Model{b.Null}, b.others()...)
}

// others are the devices without the control.
func (b *Bench) others() (list []Model) {
	for _, m := range b.Devices {
		if m.Name != b.Null.Name {
			list = append(list, m)
		}
	}
	return list
}

// collector gathers trials by device and metric, in the order in which they come.
type collector struct {
	parameters map[string]float64
	results    []*Result
}

func newCollector(parameters map[string]float64) *collector {
	return &collector{parameters: parameters}
}

func (c *collector) find(dut, metric string) *Result {
	for _, r := range c.results {
		if r.DUT == dut && r.Metric == metric {
			return r
		}
	}
	return nil
}

func (c *collector) result(dut string, m Measure) *Result {
	if r := c.find(dut, m.Metric); r != nil {
		return r
	}
	r := &Result{DUT: dut, Metric: m.Metric, Unit: m.Unit, Parameters: maps.Clone(c.parameters), Gates: map[string]Gate{}}
	c.results = append(c.results, r)
	return r
}

func (c *collector) add(bed *Bed, round int, measures []Measure) {
	invalid := bed.invalid()
	for _, m := range measures {
		r := c.result(bed.Name, m)
		r.Trials = append(r.Trials, Trial{Round: round, Value: method.Number(m.Value), Invalid: invalid})
		for name, why := range bed.gates {
			gate := r.Gates[name]
			if why == "" {
				gate.Passed++
			} else {
				gate.Failed++
				gate.Detail = why
			}
			r.Gates[name] = gate
		}
	}
}

// finish summarises, adds costs over the null device, verdicts, and ratios to the
// baseline.
func (b *Bench) finish(of Comparison, c *collector, beds []*Bed) {
	if b.Mode == SelfClocked {
		b.addCosts(c)
		b.addVerdicts(c, of.Without)
	}
	for _, r := range c.results {
		r.Summary = method.Summarise(r.values())
		b.Report.Results = append(b.Report.Results, *r)
	}
	for _, bed := range beds {
		bed.noteLosses()
	}
	var baseline string
	for _, bed := range beds {
		if bed.Name != b.Null.Name {
			baseline = bed.Name
			break
		}
	}
	for _, r := range c.results {
		base := c.find(baseline, r.Metric)
		if base != nil && r.DUT != b.Null.Name && r != base && r.Unresolved == "" && base.Unresolved == "" {
			b.Report.Ratios = append(b.Report.Ratios, ratio(r, base))
		}
	}
}

func (r *Result) values() (valid []float64) {
	for _, t := range r.Trials {
		if t.Invalid == "" {
			valid = append(valid, float64(t.Value))
		}
	}
	return valid
}

// round returns the valid value of a round.
func (r *Result) round(round int) (float64, bool) {
	for _, t := range r.Trials {
		if t.Round == round && t.Invalid == "" {
			return float64(t.Value), true
		}
	}
	return 0, false
}

// nearest returns the valid value of a round, or of the nearest that has one: two
// devices that are not in turns with each other have no round in common.
func (r *Result) nearest(round int) (value float64, ok bool) {
	least := math.MaxInt
	for _, t := range r.Trials {
		if distance := max(t.Round-round, round-t.Round); t.Invalid == "" && distance < least {
			value, ok, least = float64(t.Value), true, distance
		}
	}
	return value, ok
}

func ratio(r, base *Result) Ratio {
	q := Ratio{
		Metric: r.Metric, Parameters: r.Parameters, DUT: r.DUT, Baseline: base.DUT,
	}
	var rounds []float64
	for _, t := range r.Trials {
		if of, ok := base.nearest(t.Round); ok && t.Invalid == "" {
			rounds = append(rounds, float64(t.Value)/of)
		}
	}
	q.Value, q.Least, q.Most = method.Number(method.Quantile(rounds, 0.5)), method.Number(method.Quantile(rounds, 0)), method.Number(method.Quantile(rounds, 1))
	return q
}
