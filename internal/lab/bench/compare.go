package bench

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Comparison is devices side by side.
type Comparison struct {
	Devices []Model // none: those of the options
	Setup   Setup
	// Translating is what a device is to do instead that always translates; nil is the same.
	Translating *Setup
	Flows       trafficgen.Flows
	Parameters  map[string]float64 // of a sweep
	// InTurns sends what Establish and FullLoad send in parts, in turns with other
	// devices.
	InTurns bool
	// Without names, of a device that decides about sessions, the one that is the same
	// without deciding: a metric "rate" of sessions then gives "verdict", too.
	Without map[string]string
	// Apart keeps its devices from other points of a sweep, also where they are set up alike.
	Apart bool
	// Alone has Measure resume its device, and pause it again: no other runs meanwhile.
	Alone bool
	// Before, if there is one, sets before each trial what is of this comparison alone
	// and of the whole machine.
	Before func() error
	// Measure is one trial: it gives the same metrics each time.
	Measure func(ctx context.Context, bed *Bed) ([]Measure, error)
}

// Compare brings up all devices, the null device with them, and gives each a trial
// that does not count, then Repeat that do, or more of one that is in turns with
// several others: all trials of a round are neighbours in time. Devices that do
// not do what the setup asks are left out, with a note. In rounds of the
// self-clocked set-up a metric "rate" also gives "cost", what the device adds.
func (b *Bench) Compare(ctx context.Context, c Comparison) error {
	return b.Sweep(ctx, []Comparison{c})
}

// mostAttempts is how often a trial is made in a round until nothing disturbed it.
// One in which the device failed is not made again: that would pick the lucky ones.
const (
	mostAttempts  = 3
	trialAttempts = 2 // of a trial that takes seconds
)

// trial is a device's in a round. All attempts of a round are reported; round 0 is
// for warming up.
func (b *Bench) trial(ctx context.Context, c Comparison, bed *Bed, round int, results *collector) error {
	b.tell(strings.Join(append([]string{fmt.Sprintf("round %d, %s", round, bed.DUT.Name)}, named(c.Parameters)...), " "))
	if err := bed.begin(c); err != nil {
		return err
	}
	for range trialAttempts {
		bed.Gates.begin()
		measures, err := c.Measure(ctx, bed)
		if err != nil {
			return err
		}
		if round > 0 {
			results.add(bed, round, measures)
		}
		if round == 0 || !bed.Gates.disturbed() {
			break
		}
	}
	b.done++
	return nil
}

// models are the devices of a comparison with the control, which stands nowhere beside
// an external device.
func (b *Bench) models(c Comparison) []Model {
	devices := c.Devices
	if devices == nil {
		devices = b.Devices
	}
	if b.Null.Name == "" {
		return devices
	}
	return append([]Model{b.Null}, slices.DeleteFunc(slices.Clone(devices), func(m Model) bool { return m.Name == b.Null.Name })...)
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
	invalid := bed.Gates.invalid()
	for _, m := range measures {
		r := c.result(bed.DUT.Name, m)
		r.Trials = append(r.Trials, Trial{Round: round, Value: method.Number(m.Value), Invalid: invalid})
		for name, why := range bed.Gates.failures {
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
		r.Summary, r.Sweep = method.Summarise(r.values()), b.sweeps
		b.Report.Results = append(b.Report.Results, *r)
	}
	var baseline string
	for _, bed := range beds {
		if !bed.DUT.null {
			baseline = bed.DUT.Name
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
