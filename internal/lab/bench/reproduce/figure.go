package reproduce

import (
	"cmp"
	"fmt"
	"math"
)

// figure is a metric, with the range that its trials leave open: p1 to p99.
type figure struct {
	x                   float64 // the parameter of a sweep
	median, least, most float64
	trials              int // valid ones
	// basis of a ratio is "cost" or "rate", the one of both that it compares, if it is one of those.
	basis string
	// why, if it is not empty, is why it cannot be told: it has no value then.
	why string
}

// alone is by which factor the range of a single trial is taken to be open to either
// side: on a shared machine the same trial differs by as much from hour to hour.
const alone = 1.5

// few is by which factor two to five trials have to pass a bound: their range leaves out
// the median of all rounds in 2^(1-n) of cases, in one of two to one of sixteen.
const (
	few    = 1.04
	enough = 6 // trials
)

// margin is by which factor a bound has to be passed.
func (f figure) margin() float64 {
	if f.trials > 1 && f.trials < enough {
		return few
	}
	return 1
}

// by is f ÷ g, with the least and the most that both ranges leave open.
func (f figure) by(g figure) figure {
	if f.why+g.why != "" {
		return figure{why: cmp.Or(f.why, g.why)}
	}
	if f.basis != g.basis {
		return figure{why: fmt.Sprintf("one is by %s and the other by %s", f.basis, g.basis)}
	}
	f, g = f.open(), g.open()
	if g.most <= 0 {
		panic(absent("a figure to compare with is not above zero"))
	}
	q := figure{x: f.x, median: f.median / g.median, least: f.least / g.most, most: math.Inf(1), trials: min(f.trials, g.trials)}
	if g.least > 0 {
		q.most = f.most / g.least
	}
	return q
}

// open gives a single trial a range.
func (f figure) open() figure {
	if f.trials == 1 && f.least == f.most {
		f.least, f.most = f.median/alone, f.median*alone
	}
	return f
}

// above is whether all that the range leaves open is above a bound, by the margin. With bound 1, a
// ratio of two figures whose ranges overlap is undecided.
func (f figure) above(bound float64) Holds {
	switch f = f.open(); {
	case f.why != "":
	case f.least > bound*f.margin():
		return Yes
	case f.most < bound/f.margin():
		return No
	}
	return Undecided
}

// below is the same the other way round.
func (f figure) below(bound float64) Holds {
	switch f.above(bound) {
	case Yes:
		return No
	case No:
		return Yes
	}
	return Undecided
}

// within is whether a ratio is closer to 1 than a factor.
func (f figure) within(factor float64) Holds {
	switch f = f.open(); {
	case f.why != "":
	case f.least > f.margin()/factor && f.most < factor/f.margin():
		return Yes
	case f.least > factor*f.margin() || f.most < 1/(factor*f.margin()):
		return No
	}
	return Undecided
}

// root is a ratio over so many steps, as the ratio of one.
func (f figure) root(steps float64) figure {
	f = f.open()
	for _, v := range []*float64{&f.median, &f.least, &f.most} {
		*v = math.Pow(*v, 1/steps)
	}
	return f
}

// String writes the median, and the range or that there is none, or why there is neither.
func (f figure) String() string { return f.in("", si) }

// in writes the figure with a unit.
func (f figure) in(unit string, number func(float64) string) string {
	if f.why != "" {
		return "? (" + f.why + ")"
	}
	if f.trials == 1 {
		return number(f.median) + unit + " (one trial)"
	}
	return fmt.Sprintf("%s%s (%s–%s)", number(f.median), unit, number(f.least), number(f.most))
}

// every is of a claim that one exception refutes.
func every(parts ...Holds) Holds {
	all := Yes
	for _, part := range parts {
		switch part {
		case No:
			return No
		case Undecided:
			all = Undecided
		}
	}
	return all
}

// together is of a claim that says several things: partly, where some hold and
// others do not.
func together(parts ...Holds) Holds {
	count := map[Holds]int{}
	for _, part := range parts {
		count[part]++
	}
	switch {
	case count[Yes] == len(parts):
		return Yes
	case count[No] > 0 && count[Yes] == 0 && count[Partly] == 0:
		return No
	case count[No] > 0 || count[Partly] > 0:
		return Partly
	}
	return Undecided
}

// si writes three digits with k, M or G.
func si(v float64) string {
	switch {
	case math.Abs(v) >= 999.5e6:
		return fmt.Sprintf("%.3gG", v/1e9)
	case math.Abs(v) >= 999.5e3:
		return fmt.Sprintf("%.3gM", v/1e6)
	case math.Abs(v) >= 999.5:
		return fmt.Sprintf("%.3gk", v/1e3)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}
