package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// figure is a plot with the name by which SVG finds it.
type figure struct {
	name string
	drawing
}

// SVG writes one plot of the report as a file of its own: the one of a metric, or
// a plot of curves by its name.
func SVG(w io.Writer, r bench.Report, name string) error {
	var names []string
	for _, f := range figures(r) {
		if f.name == name {
			f.retitle(r.Scenario + ", " + f.Title) // there is no page around it
			return f.file(w)
		}
		names = append(names, f.name)
	}
	return fmt.Errorf("the report has no plot %q; it has: %s", name, strings.Join(names, ", "))
}

func figures(r bench.Report) (list []figure) {
	for _, b := range blocks(r) {
		list = append(list, b.figure())
	}
	return append(list, seriesFigures(r)...)
}

// figure is a metric's plot: over the parameter that was swept, or every trial.
func (b *block) figure() figure {
	if c, ok := b.scaling(); ok {
		return figure{b.metric, c.draw()}
	}
	rows := b.rows
	if b.of != "" { // the control, at each member, would only hide what differs
		rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.control })
	}
	if len(rows) == 0 {
		rows = b.rows
	}
	return figure{b.metric, dots(b.metric+": every trial", b.label(), rows)}
}

// trialFigures are all trials of a metric that was swept: a plot for each set of
// parameters.
func (b *block) trialFigures() (list []figure) {
	for rows := b.rows; len(rows) > 0; {
		name := rows[0].group()
		n := slices.IndexFunc(rows, func(r row) bool { return r.group() != name })
		if n < 0 {
			n = len(rows)
		}
		list = append(list, figure{name, dots(b.metric+", "+name+": every trial", b.label(), rows[:n])})
		rows = rows[n:]
	}
	return list
}

// scaling draws medians over the parameter that has the most values, with bars
// from the 1st to the 99th percentile.
func (b *block) scaling() (c curves, ok bool) {
	over, most := "", 1
	for _, key := range b.keys {
		if n := len(b.valuesOf(key)); n > most {
			over, most = key, n
		}
	}
	if over == "" {
		return c, false
	}
	c = curves{title: b.metric + " over " + over, x: inWords(over), y: b.label()}
	for _, r := range b.rows {
		x, has := r.values[over]
		if !has {
			continue
		}
		name := strings.TrimSpace(r.DUT + " " + b.others(r, over))
		if r.member != "" {
			name += " " + r.member
		}
		i := slices.IndexFunc(c.lines, func(l curve) bool { return l.name == name })
		if i < 0 {
			i = len(c.lines)
			c.lines = append(c.lines, curve{name: name, style: styleOf(r.style, r.control)})
		}
		c.lines[i].points = append(c.lines[i].points, point{x, float64(r.Median), float64(r.P1), float64(r.P99)})
	}
	c.spread()
	return c, true
}

// others writes the parameters that vary at one value of another: what follows from
// it is no line of its own.
func (b *block) others(r row, but string) string {
	rest := map[string]float64{}
	for key, value := range r.values {
		if key != but && b.varies(key, but) {
			rest[key] = value
		}
	}
	return parameters(rest)
}

func (b *block) varies(key, at string) bool {
	first := map[float64]float64{}
	for _, r := range b.rows {
		value, known := first[r.values[at]]
		if known && value != r.values[key] {
			return true
		}
		first[r.values[at]] = r.values[key]
	}
	return false
}

func (b *block) valuesOf(key string) (values []float64) {
	for _, r := range b.rows {
		if v, ok := r.values[key]; ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// even says whether values lie at equal distances, as the steps of a search do.
func even(values []float64) bool {
	sorted := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for i := 2; i < len(sorted); i++ {
		if gap := sorted[i] - sorted[i-1]; gap > 1.5*(sorted[1]-sorted[0]) || gap*1.5 < sorted[1]-sorted[0] {
			return false
		}
	}
	return true
}

// seriesFigures draws the curves that belong together in one plot each.
func seriesFigures(r bench.Report) (list []figure) {
	devices := devicesOf(r)
	var plots []string
	drawn := map[string]*curves{}
	for _, s := range r.Series {
		c := drawn[s.Plot]
		if c == nil {
			c = &curves{title: s.Plot, x: s.X, y: s.Y}
			drawn[s.Plot] = c
			plots = append(plots, s.Plot)
		}
		line := curve{name: s.DUT, style: styleOf(slices.Index(devices, s.DUT), s.DUT == r.Control)}
		for _, p := range s.Points {
			line.points = append(line.points, point{p[0], p[1], none, none})
		}
		// What a search tried comes in the order in which it was tried.
		slices.SortStableFunc(line.points, func(p, q point) int { return cmp.Compare(p.x, q.x) })
		c.lines = append(c.lines, line)
	}
	for _, name := range plots {
		c := drawn[name]
		c.spread()
		list = append(list, figure{name, c.draw()})
	}
	return list
}

// trace begins the names of plots that show how a search went.
var trace = regexp.MustCompile("^(search|loss in the search) for ")

// ownCurves are the curves of the report, those of searches apart.
func ownCurves(r bench.Report) (curves, traces []figure) {
	for _, f := range seriesFigures(r) {
		if trace.MatchString(f.name) {
			traces = append(traces, f)
		} else {
			curves = append(curves, f)
		}
	}
	return curves, traces
}

// mostShare is the greatest share, in per cent.
const mostShare = 100

// spread makes axes logarithmic where the values need it. A share is read on an
// even axis, however small it begins.
func (c *curves) spread() {
	var xs, ys []float64
	for _, line := range c.lines {
		for _, p := range line.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
		}
	}
	_, most := extremes(ys)
	c.logX = spreads(xs, logSpread) && !even(xs)
	c.logY = c.logX && spreads(ys, logSpread) && most > mostShare
}
