package report

import (
	"math"
	"strconv"
	"strings"
)

// axis turns values into places of a drawing.
type axis struct {
	label string // what it shows; the unit is with its ticks
	unit  string
	log   bool

	low, high float64 // values
	from, to  float64 // places; an upright axis has from below to
}

// tick is a marked value.
type tick struct {
	at   float64
	text string
}

// newAxis takes a label as series carry it, "rate, 1/s" or "delay (ns)", and the
// values to be shown. Zero belongs to every axis that is not logarithmic, so that
// lengths can be compared.
func newAxis(label string, values []float64, log bool) axis {
	a := axis{log: log}
	a.label, a.unit = splitUnit(label)
	a.low, a.high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) && (!log || v > 0) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if a.low > a.high { // nothing to show
		a.low, a.high = 0, 1
		a.log = false
	}
	if a.log {
		a.widenLog()
	} else {
		a.low, a.high = min(a.low, 0), max(a.high, 0)
		if a.low == a.high {
			a.high = 1
		}
		step := a.step()
		a.low, a.high = math.Floor(a.low/step+1e-9)*step, math.Ceil(a.high/step-1e-9)*step
	}
	return a
}

// splitUnit takes "rate, 1/s", "delay (ns)" or "rules" apart.
func splitUnit(label string) (name, unit string) {
	if before, after, ok := strings.Cut(strings.TrimSuffix(label, ")"), " ("); ok && strings.HasSuffix(label, ")") {
		return before, after
	}
	if i := strings.LastIndex(label, ", "); i >= 0 && !strings.Contains(label[i+2:], " ") {
		return label[:i], label[i+2:]
	}
	return label, "" // "packets per second, both ways" is in words
}

// widenLog makes the ends 1, 2 or 5 times a power of ten.
func (a *axis) widenLog() {
	down, up := a.low, a.high
	a.low, a.high = math.Pow10(int(math.Floor(math.Log10(down)))), math.Pow10(int(math.Ceil(math.Log10(up))))
	for _, m := range []float64{5, 2} {
		if a.low*m <= down*1.0001 {
			a.low *= m
			break
		}
	}
	for _, m := range []float64{5, 2} {
		if a.high/m >= up*0.9999 {
			a.high /= m
			break
		}
	}
	if a.low >= a.high {
		a.low, a.high = down/2, up*2
	}
}

// wanted is how many ticks an axis has, about.
const wanted = 6

// step is 1, 2 or 5 times a power of ten.
func (a axis) step() float64 {
	raw := (a.high - a.low) / wanted
	power := math.Pow10(int(math.Floor(math.Log10(raw))))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power*1.0001 {
			return m * power
		}
	}
	return 10 * power
}

// at is the place of a value.
func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(v)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// shows says whether a value can be placed.
func (a axis) shows(v float64) bool { return finite(v) && (!a.log || v > 0) }

func (a axis) ticks() (list []tick) {
	if a.log {
		return a.logTicks()
	}
	step := a.step()
	s := tickScale(a.unit, math.Max(math.Abs(a.low), math.Abs(a.high)), 1e4)
	s.decimals = max(0, -int(math.Floor(math.Log10(step/s.divisor)+1e-9)))
	for i := math.Round(a.low / step); i*step <= a.high+step/2; i++ {
		text := "0"
		if i != 0 {
			text = s.text(i * step)
		}
		list = append(list, tick{i * step, text})
	}
	return list
}

// logTicks are the powers of ten, and between them 2 and 5 where there is room.
// Many decades share the marks out.
func (a axis) logTicks() (list []tick) {
	first, last := int(math.Floor(math.Log10(a.low)+1e-9)), int(math.Ceil(math.Log10(a.high)-1e-9))
	between := []float64{1}
	if last-first <= 3 {
		between = []float64{1, 2, 5}
	}
	every := max(1, (last-first+wanted)/(wanted+1))
	for power := first; power <= last; power += every {
		for _, m := range between {
			v := m * math.Pow10(power)
			if v < a.low*0.999 || v > a.high*1.001 {
				continue
			}
			s := tickScale(a.unit, v, 1e3)
			list = append(list, tick{v, strings.TrimSpace(parameter(rounded(v/s.divisor)) + " " + s.unit)})
		}
	}
	return list
}

// counts are the prefixes of numbers without a unit.
var counts = []step{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}}

// tickScale is the scale of a value, with k and M also where there is no unit and
// the value is large.
func tickScale(unit string, v, large float64) scale {
	s := scaleFor(unit, v)
	if steps, _ := unitSteps(unit); len(steps) > 1 || unit == "%" {
		return s
	}
	s.unit = ""
	if v < large {
		return s
	}
	for _, c := range counts {
		if v >= c.divisor {
			s.divisor, s.unit = c.divisor, c.unit
		}
	}
	return s
}

// rounded takes away what the arithmetic of floating points adds.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // what it has written itself
	return v
}

// title is the label with the unit that the ticks do not carry.
func (a axis) title() string {
	title := a.label
	if steps, _ := unitSteps(a.unit); a.unit != "" && len(steps) == 1 && a.unit != "%" {
		title += ", " + a.unit
	}
	if a.log {
		title += " (logarithmic)"
	}
	return title
}
