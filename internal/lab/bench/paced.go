package bench

import (
	"errors"
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

// DeviceCPU returns the CPU on which the device and the sinks work in the paced
// set-up.
func (o Options) DeviceCPU() int {
	if o.CPU > 0 {
		return o.CPU - 1
	}
	return 1
}

// checkPaced returns an error where tester and device cannot have a CPU each.
func (o Options) checkPaced(cpus int) error {
	if o.Mode == Paced && cpus < 2 {
		return fmt.Errorf("this machine has one CPU, and the paced set-up needs one for the tester and one for the device: use --setup self-clocked")
	}
	return nil
}

// cpus are those whose time counts, or AnyCPU.
func (o Options) cpus() []int {
	if o.Mode == Paced {
		return []int{o.CPU, o.DeviceCPU()}
	}
	return []int{o.CPU}
}

// The sinks go before the device on their CPU: a device with more to do than it can
// would never let them run, and what it has done would be lost on it.
const (
	devicePriority = 1
	sinkPriority   = 2
)

// place moves the work of the device and of the sinks to a CPU of their own.
// Devices make their queues anew when they start, so it is done before every run.
func (r *Rig) place(cpu int) error {
	if r.Device == nil {
		return nil
	}
	return errors.Join(
		r.Device.ThreadNAPI(PrivateInterface, cpu, devicePriority), r.Device.ThreadNAPI(PublicInterface, cpu, devicePriority),
		r.Inside.ThreadNAPI(insideInterface, cpu, sinkPriority), r.Outside.ThreadNAPI(outsideInterface, cpu, sinkPriority))
}

// Thread lets the device and the sinks receive in threads of the kernel, on a CPU or
// on lab.AnyCPU.
func (b *Bed) Thread(cpu int) error {
	b.threads = []int{cpu}
	return errors.Join(b.bench.Host.letRealTimeRun(), b.Rig.place(cpu))
}

// SearchRate looks for the highest rate at which a trial meets the goal of the
// options, in a trial that is valid, as far as it can be repeated. name tells
// several searches on one bed apart; each begins where the last of its name ended.
// The report gets its trace.
// Without the sessions that Prepare makes there is nothing to look for.
func (b *Bed) SearchRate(name string, trial func(rate float64) (trafficgen.Outcome, error)) (method.Found, error) {
	return b.search(name, leastRate, trial)
}

// SearchEstablishRate is SearchRate for trials that send every session once, down to a
// rate at which that does not take long.
func (b *Bed) SearchEstablishRate(name string, trial func(rate float64) (trafficgen.Outcome, error)) (method.Found, error) {
	return b.search(name, max(leastRate, float64(b.Flows.Count())/b.bench.longest().Seconds()), trial)
}

func (b *Bed) search(name string, least float64, trial func(rate float64) (trafficgen.Outcome, error)) (method.Found, error) {
	if b.gates["prepared"] != "" {
		return method.Found{}, nil
	}
	goal := b.bench.Search
	s := method.Search{Goal: goal, Least: least, Most: trafficgen.MaxRate, Start: firstRate, Stride: firstStride}
	if hint := b.hints[name]; hint > 0 {
		s.Start, s.Stride = hint, 1+2*goal.Width
	}
	found, err := s.Run(func(rate float64) (method.Observation, error) {
		b.bench.tell(fmt.Sprintf("%s: %s at %.0f/s", b.Name, name, rate))
		return b.observe(func() (trafficgen.Outcome, error) { return trial(rate) })
	})
	if err != nil {
		return found, err
	}
	b.hints[name] = found.Lower
	b.trace(name, found)
	last := found.Steps[len(found.Steps)-1]
	b.Gate("found", found.Lower > 0, "no rate from %.0f/s on passed: %.3g %% are lost at %.0f/s", least, 100*last.Loss, last.Load)
	b.Gate("generator", !found.Limited || b.isNull(), "the tester reaches only %.0f/s, and the device passed", found.Lower)
	return found, nil
}

// Hint returns the rate that the last search of a name on this bed found, or 0.
func (b *Bed) Hint(name string) float64 { return b.hints[name] }

// Rate is what a search is reported as: the rate that passed, or, where some loss
// may be, what got through at it.
func (b *Bed) Rate(found method.Found) float64 {
	if b.bench.Search.Loss > 0 {
		return found.Conditional
	}
	return found.Lower
}

// observe makes a trial of a search. One that is spoilt by a generator that is too
// slow, or by stolen time, is no invalid measurement: the search has its ways with
// it. All other gates must hold.
func (b *Bed) observe(trial func() (trafficgen.Outcome, error)) (o method.Observation, err error) {
	attempts := mostAttempts
	if b.bench.Search.Trials > 1 {
		attempts = 1 // the search bears with a bad one
	}
	gates, err := b.attempt(attempts, func() error {
		outcome, err := trial()
		if err == nil {
			o.Loss = outcome.LossRatio()
		}
		return err
	})
	if err != nil {
		return o, err
	}
	o.Beyond = gates["generator"] != ""
	for name, why := range gates {
		if why == "" || name != "generator" && name != "steal" {
			b.Gate(name, why == "", "%s", why)
		}
	}
	return o, nil
}

// Try makes a part of a trial until it is valid, as often as a whole trial would
// be made.
func (b *Bed) Try(part func() error) error {
	gates, err := b.attempt(mostAttempts, part)
	b.join(gates)
	return err
}

// attempt returns the gates of the last attempt.
func (b *Bed) attempt(most int, part func() error) (gates map[string]string, err error) {
	whole := b.gates
	defer func() { b.gates = whole }()
	for range most {
		b.gates = map[string]string{}
		if err = part(); err != nil || b.invalid() == "" {
			break
		}
	}
	return b.gates, err
}

func (b *Bed) join(gates map[string]string) {
	for name, why := range gates {
		b.Gate(name, why == "", "%s", why)
	}
}

// trace puts the last search of its name on this bed into the report.
func (b *Bed) trace(name string, found method.Found) {
	loads := Series{DUT: b.Name, Plot: "search for " + name, X: "trial", Y: "offered load, 1/s"}
	losses := Series{DUT: b.Name, Plot: "loss in the search for " + name, X: "offered load, 1/s", Y: "loss ratio"}
	for i, step := range found.Steps {
		loads.Points = append(loads.Points, [2]float64{float64(i + 1), step.Load})
		if !step.Beyond {
			losses.Points = append(losses.Points, [2]float64{step.Load, step.Loss})
		}
	}
	b.bench.Plot(loads)
	b.bench.Plot(losses)
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
