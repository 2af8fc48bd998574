package method

import (
	"fmt"
	"math"
)

// Goal is when a load passes. It is of one trial or of several of equal length:
// each is a high-loss or a low-loss trial, and no more are made than it takes to
// know what all of them together could still say. So does MLRsearch
// (draft-ietf-bmwg-mlrsearch), from which come the loss ratio, the exceed ratio,
// the width, the relevant bounds and the conditional throughput. Left out are its
// short preliminary trials and several goals in one search.
type Goal struct {
	Loss   float64 // share of frames that a low-loss trial may lose
	Exceed float64 // share of trials that may be high-loss
	Trials int     // at one load, at least 1
	Width  float64 // by which the bounds may differ in the end, relative to the lower
}

// Strict is the binary search of RFC 2544 section 26.1 and of RFC 9693:
// one trial decides, and it may lose nothing.
func Strict() Goal { return Goal{Trials: 1, Width: 0.01} }

// Tolerant is for machines that others use too: what one trial lost does not
// decide.
func Tolerant() Goal { return Goal{Loss: 0.005, Exceed: 0.5, Trials: 5, Width: 0.02} }

// Observation is what a trial at a load showed.
type Observation struct {
	Loss   float64 // share of what was sent, 0 to 1
	Beyond bool    // the tester could not offer the load, so that the search must stay below it
}

// Step is one trial of a search.
type Step struct {
	Load float64
	Observation
}

// Search looks for the highest load that meets its goal.
type Search struct {
	Goal
	Least, Most float64 // loads to try, above 0
	Start       float64 // the first load
	Stride      float64 // from the first load to the second, over 1, as long as one bound is missing
}

// Found is how a search ended. The bounds are MLRsearch's relevant ones: Upper is
// the least load that failed, Lower the highest below it that passed.
type Found struct {
	Lower       float64 // 0 when even the least load failed
	Upper       float64 // infinite when the most passed
	Conditional float64 // conditional throughput: what got through at Lower in a trial that is still within the exceed ratio
	Limited     bool    // Upper is the tester's limit, and not the device's
	Steps       []Step
}

// mostStride bounds how fast a search leaves a bad first load.
const mostStride = 2

// Run searches. trial offers a load and says what came of it; its error ends the
// search. A load is tried Trials times at most and never again: the number of
// trials is bounded whatever they show.
func (s Search) Run(trial func(load float64) (Observation, error)) (Found, error) {
	f := Found{Upper: math.Inf(1)}
	if s.Trials < 1 || s.Width <= 0 || s.Stride <= 1 || s.Least <= 0 || s.Most < s.Least {
		return f, fmt.Errorf("search %+v: want a trial, a width and a stride, and bounds in order", s)
	}
	load := min(max(s.Start, s.Least), s.Most)
	for stride := s.Stride; ; {
		if err := s.judge(load, trial, &f); err != nil {
			return f, err
		}
		switch {
		case f.Lower == 0 && load <= s.Least, math.IsInf(f.Upper, 1) && load >= s.Most, f.Upper <= f.Lower*(1+s.Width):
			return f, nil
		case f.Lower == 0:
			load = max(f.Upper/stride, s.Least)
		case math.IsInf(f.Upper, 1):
			load = min(f.Lower*stride, s.Most)
		default:
			load = math.Sqrt(f.Lower * f.Upper)
		}
		stride = min(stride*stride, max(mostStride, s.Stride))
	}
}

// judge makes trials at a load until it is a bound.
func (s Search) judge(load float64, trial func(float64) (Observation, error), f *Found) error {
	var losses []float64
	low, high, beyond := 0, 0, 0
	for {
		o, err := trial(load)
		if err != nil {
			return err
		}
		f.Steps = append(f.Steps, Step{load, o})
		switch {
		case o.Beyond:
			beyond++
			high++
		case o.Loss > s.Loss:
			high++
		default:
			low++
		}
		losses = append(losses, o.Loss)
		may := s.Exceed * float64(s.Trials)
		switch { // the rest could all be high, or all be low
		case float64(s.Trials-low) <= may:
			f.Lower, f.Conditional = load, load*(1-Quantile(losses, 1-s.Exceed))
			return nil
		case float64(high) > may:
			f.Upper, f.Limited = load, 2*beyond > high
			return nil
		}
	}
}
