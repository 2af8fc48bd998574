package report

import (
	"fmt"
	"math"
	"strings"
)

// logSpread is how far apart values lie that only a logarithmic axis shows all of.
const logSpread = 30

const rowHeight = 40.0

// dots draws every trial of a metric: a row for each device, a dot for each valid
// trial, a bar from the 1st to the 99th percentile, and a line at the median. What
// is invalid is a cross.
func dots(title, label string, rows []row) drawing {
	d := drawing{Title: title, Width: plotWidth, Description: describeDots(rows)}
	var values []float64
	names := 0.0
	for _, r := range rows {
		names = max(names, wide(r.label()))
		for _, t := range r.Trials {
			values = append(values, float64(t.Value))
		}
	}
	x := newAxis(label, values, spreads(values, logSpread))
	left, top := 16+names, marginTop
	bottom := top + rowHeight*float64(len(rows))
	d.Height = bottom + 50
	x.from, x.to = left, plotWidth-marginRight
	d.text("title", 8, 20, title)
	d.level(x, top, bottom)
	d.path("axis", "M%.1f %.1fV%.1f", left, top, bottom)
	for i, r := range rows {
		y := top + rowHeight*(float64(i)+0.5)
		d.text("end", left-8, y+4, r.label())
		d.trials(r, x, y)
	}
	return d
}

// label is what stands beside a row's marks.
func (r row) label() string { return strings.TrimSpace(r.member + " " + r.DUT) }

func (d *drawing) trials(r row, x axis, y float64) {
	style := styleOf(r.style, r.control)
	if p1, p99 := float64(r.P1), float64(r.P99); x.shows(p1) && x.shows(p99) {
		d.box(style+" range", x.at(p1), y-13, max(1, x.at(p99)-x.at(p1)), 26)
		d.tip("%s: p1 %s, p99 %s", r.DUT, r.scale.text(p1), r.scale.text(p99))
	}
	for i, t := range r.Trials {
		v := float64(t.Value)
		if !x.shows(v) {
			continue
		}
		// Beside each other in height, so that none hides another.
		at := y + (float64(i%5)-2)*4.5
		if t.Invalid == "" || r.bound {
			d.mark(style, x.at(v), at, 3.2)
			d.tip("%s, round %d: %s", r.DUT, t.Round, r.scale.text(v))
		} else {
			d.path("invalid", "M%.1f %.1fl8 8m0-8l-8 8", x.at(v)-4, at-4)
			d.tip("%s, round %d: %s, invalid: %s", r.DUT, t.Round, r.scale.text(v), t.Invalid)
		}
	}
	if m := float64(r.Median); x.shows(m) {
		d.path(style+" median", "M%.1f %.1fv30", x.at(m), y-15)
		d.tip("%s: median %s", r.DUT, r.text(m))
		d.beside(r, x, y, r.text(m))
	}
}

// beside writes a text at the right of a row's marks, or at their left where there
// is no room.
func (d *drawing) beside(r row, x axis, y float64, text string) {
	least, most := x.at(float64(r.Median)), x.at(float64(r.Median))
	for _, t := range r.Trials {
		if v := float64(t.Value); x.shows(v) {
			least, most = min(least, x.at(v)), max(most, x.at(v))
		}
	}
	switch {
	case most+10+wide(text) < plotWidth:
		d.text("", most+10, y+4, text)
	case least-10-wide(text) > x.from:
		d.text("end", least-10, y+4, text)
	}
}

func describeDots(rows []row) string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, fmt.Sprintf("%s: median %s, p1 %s, p99 %s, %d of %d trials valid", r.label(), r.text(float64(r.Median)),
			r.scale.text(float64(r.P1)), r.scale.text(float64(r.P99)), r.valid(), len(r.Trials)))
	}
	return strings.Join(lines, "; ")
}

// spreads says whether all values are above zero and the greatest is so many
// times the least.
func spreads(values []float64, times float64) bool {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			least, most = min(least, v), max(most, v)
		}
	}
	return least > 0 && most/least >= times
}

// text writes a value with its unit, and says where it is a lower bound.
func (r row) text(v float64) string {
	if r.bound {
		return "at least " + r.scale.text(v)
	}
	return r.scale.text(v)
}

// label is that of an axis for a metric.
func (b *block) label() string { return label(b.metric, b.unit) }

func label(metric, unit string) string {
	if unit == "" {
		return metric
	}
	return metric + ", " + unit
}
