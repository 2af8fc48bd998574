package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// Group is what stands side by side in a plot of bars: a result of each device that has one.
type Group struct {
	Name    string
	Results []bench.Result
}

// bars is a plot of groups.
type bars struct {
	title, y string
	groups   []string
	lines    []curve // x is the number of the group
}

// mostBar is how wide a bar may be, and gap which share of a group is left free.
const (
	mostBar = 26.0
	gap     = 0.2
)

// Bars writes a metric as a file of bars up to the medians, with whiskers from the 1st to
// the 99th percentile. Devices stand in the order in which they come first.
func Bars(w io.Writer, title, metric string, groups []Group) error {
	return grouped(title, metric, groups).draw().file(w)
}

func grouped(title, metric string, groups []Group) bars {
	c := bars{title: title + ", " + metric}
	for number, group := range groups {
		c.groups = append(c.groups, group.Name)
		for _, r := range group.Results {
			c.y = label(metric, r.Unit)
			if bound, is := LowerBound(r); is {
				r.Summary = bound
			}
			i := slices.IndexFunc(c.lines, func(l curve) bool { return l.name == r.DUT })
			if i < 0 {
				i = len(c.lines)
				c.lines = append(c.lines, curve{name: r.DUT, style: styleOf(i, false)})
			}
			c.lines[i].points = append(c.lines[i].points, point{float64(number), float64(r.Median), float64(r.P1), float64(r.P99)})
		}
	}
	return c
}

func (c bars) draw() drawing {
	lines := curves{lines: c.lines, y: c.y}
	_, y := lines.axes()
	d := drawing{Title: c.title, Width: plotWidth, Description: c.describe()}
	left, right := 34+widest(y), plotWidth-marginRight
	top := d.legend(lines.legend(), left)
	bottom := top + curvesHeight
	y.from, y.to = bottom, top
	d.upright(y, left, right)
	width := (right - left) / float64(len(c.groups))
	deepest := 0
	for i, name := range c.groups {
		rows := broken(name, width)
		deepest = max(deepest, len(rows))
		for n, row := range rows {
			d.text("middle", left+(float64(i)+0.5)*width, bottom+lineHeight*float64(n+1), row)
		}
	}
	d.Height = bottom + lineHeight*float64(deepest) + 12
	for i := range c.groups {
		d.group(c, i, left+float64(i)*width, width, y)
	}
	d.path("axis", "M%.1f %.1fH%.1f", left, bottom, right)
	return d
}

// group draws the bars of a group, side by side in its middle.
func (d *drawing) group(c bars, number int, left, width float64, y axis) {
	type bar struct {
		curve
		point
	}
	var list []bar
	for _, line := range c.lines {
		for _, p := range line.points {
			if p.x == float64(number) && y.shows(p.y) {
				list = append(list, bar{line, p})
			}
		}
	}
	each := min(mostBar, width*(1-gap)/float64(max(len(list), 1)))
	x := left + (width-each*float64(len(list)))/2
	for _, b := range list {
		d.box(b.style+" bar", x+1, y.at(b.y), each-2, y.from-y.at(b.y))
		d.tip("%s, %s: %s %s", c.groups[number], b.name, y.label, y.text(b.y))
		middle := x + each/2
		if y.shows(b.low) && y.shows(b.high) {
			d.path(b.style+" whisker", "M%.1f %.1fV%.1fm-4 0h8M%.1f %.1fh8", middle, y.at(b.low), y.at(b.high), middle-4, y.at(b.low))
		}
		d.mark(b.style, middle, y.at(b.y), 4)
		x += each
	}
}

// broken breaks a text into rows of a width, where it has spaces and after the dash of a range.
func broken(text string, width float64) (rows []string) {
	const dash = "–"
	for _, word := range strings.Fields(text) {
		between := " "
		for _, part := range strings.SplitAfter(word, dash) {
			if part == "" { // behind a dash at the end
				continue
			}
			if last := len(rows) - 1; last >= 0 && wide(rows[last]+between+part) < width {
				rows[last] += between + part
			} else {
				rows = append(rows, part)
			}
			between = ""
		}
	}
	return rows
}

// describe says in words what the plot shows.
func (c bars) describe() string {
	var texts []string
	for _, line := range c.lines {
		var values []string
		for _, p := range line.points {
			values = append(values, fmt.Sprintf("%.4g with %s", p.y, c.groups[int(p.x)]))
		}
		texts = append(texts, line.name+": "+strings.Join(values, ", "))
	}
	return c.y + "; " + strings.Join(texts, "; ")
}
