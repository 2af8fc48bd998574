package bench

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Rates that a search tries, in frames per second, and how it goes on from its
// first one: in big strides from a guess, in small ones from the rate that the
// round before has found.
const (
	leastRate   = 1000
	firstRate   = 100_000
	firstStride = 2
)

// Search looks for the highest rate at which a trial meets the goal of the options.
type Search struct {
	dut    *DUT
	tester *Tester
	gates  *Gates
	bench  *Bench

	found map[string]float64 // the rate of the last search of each name
}

// Rate looks for the highest rate at which a trial meets the goal of the
// options, in a trial that is valid, as far as it can be repeated. name tells
// several searches on one bed apart; each begins where the last of its name ended.
// The report gets its trace.
// Without the sessions that Prepare makes there is nothing to look for.
func (s *Search) Rate(name string, trial func(rate float64) (trafficgen.Outcome, error)) (method.Found, error) {
	return s.from(leastRate, name, trial)
}

// EstablishRate is Rate for trials that send every session once, down to a rate at
// which that does not take long.
func (s *Search) EstablishRate(name string, trial func(rate float64) (trafficgen.Outcome, error)) (method.Found, error) {
	return s.from(max(leastRate, float64(s.tester.Flows.Count())/s.bench.longest().Seconds()), name, trial)
}

func (s *Search) from(least float64, name string, trial func(rate float64) (trafficgen.Outcome, error)) (method.Found, error) {
	if s.gates.failures["prepared"] != "" {
		return method.Found{}, nil
	}
	goal := s.bench.Search
	search := method.Search{Goal: goal, Least: least, Most: trafficgen.MaxRate, Start: firstRate, Stride: firstStride}
	if known := s.found[name]; known > 0 {
		search.Start, search.Stride = known, 1+2*goal.Width
	}
	found, err := search.Run(func(rate float64) (method.Observation, error) {
		s.bench.tell(fmt.Sprintf("%s: %s at %.0f/s", s.dut.Name, name, rate))
		return s.observe(func() (trafficgen.Outcome, error) { return trial(rate) })
	})
	if err != nil {
		return found, err
	}
	s.found[name] = found.Lower
	s.trace(name, found)
	last := found.Steps[len(found.Steps)-1]
	s.gates.Require("found", found.Lower > 0, "no rate from %.0f/s on passed: %.3g %% are lost at %.0f/s", least, 100*last.Loss, last.Load)
	s.gates.Require("generator", !found.Limited || s.dut.null, "the tester reaches only %.0f/s, and the device passed", found.Lower)
	return found, nil
}

// Known returns the rate that the last search of a name on this bed found, or 0.
func (s *Search) Known(name string) float64 { return s.found[name] }

// Reported is what a search is reported as: the rate that passed, or, where some loss
// may be, what got through at it.
func (s *Search) Reported(found method.Found) float64 {
	if s.bench.Search.Loss > 0 {
		return found.Conditional
	}
	return found.Lower
}

// observe makes a trial of a search. One that is spoilt by a generator that is too
// slow, or by stolen time, is no invalid measurement: the search has its ways with
// it. All other gates must hold.
func (s *Search) observe(trial func() (trafficgen.Outcome, error)) (o method.Observation, err error) {
	attempts := mostAttempts
	if s.bench.Search.Trials > 1 {
		attempts = 1 // the search bears with a bad one
	}
	failed, err := s.gates.attempt(attempts, func() error {
		outcome, err := trial()
		if err == nil {
			o.Loss = outcome.LossRatio()
		}
		return err
	})
	if err != nil {
		return o, err
	}
	o.Beyond = failed["generator"] != ""
	for name, why := range failed {
		if why == "" || name != "generator" && name != "steal" {
			s.gates.Require(name, why == "", "%s", why)
		}
	}
	return o, nil
}

// trace puts the last search of its name on this bed into the report.
func (s *Search) trace(name string, found method.Found) {
	loads := Series{DUT: s.dut.Name, Plot: "search for " + name, X: "trial", Y: "offered load, 1/s"}
	losses := Series{DUT: s.dut.Name, Plot: "loss in the search for " + name, X: "offered load, 1/s", Y: "loss ratio"}
	for i, step := range found.Steps {
		loads.Points = append(loads.Points, [2]float64{float64(i + 1), step.Load})
		if !step.Beyond {
			losses.Points = append(losses.Points, [2]float64{step.Load, step.Loss})
		}
	}
	s.bench.Plot(loads)
	s.bench.Plot(losses)
}

// Plot adds a curve to the report, in place of an earlier one of the same device
// in the same plot.
func (b *Bench) Plot(s Series) {
	for i, old := range b.Report.Series {
		if old.DUT == s.DUT && old.Plot == s.Plot {
			b.Report.Series[i] = s
			return
		}
	}
	b.Report.Series = append(b.Report.Series, s)
}
