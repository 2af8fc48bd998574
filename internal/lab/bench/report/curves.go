package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// none is the end of an error bar that a point does not have.
var none = math.NaN()

// point of a curve; low and high are the ends of its error bar.
type point struct{ x, y, low, high float64 }

// curve is one line of a plot. Curves of the same name share a look and a line of
// the legend.
type curve struct {
	name   string
	style  string
	points []point
}

// curves is a plot of lines.
type curves struct {
	title, x, y string
	logX, logY  bool
	lines       []curve
}

const curvesHeight = 300.0 // of the frame alone

func (c curves) draw() drawing {
	d := drawing{Title: c.title, Width: plotWidth, Description: c.describe()}
	x, y := c.axes()
	left := 34 + widest(y)
	top := d.legend(c.legend(), left)
	bottom := top + curvesHeight
	d.Height = bottom + 50
	x.from, x.to = left, plotWidth-marginRight
	y.from, y.to = bottom, top
	d.upright(y, left, x.to)
	d.level(x, top, bottom)
	for _, line := range c.lines {
		d.curve(line, x, y)
	}
	return d
}

func (c curves) axes() (x, y axis) {
	var xs, ys []float64
	for _, line := range c.lines {
		for _, p := range line.points {
			xs, ys = append(xs, p.x), append(ys, p.y, p.low, p.high)
		}
	}
	return newAxis(c.x, xs, c.logX), newAxis(c.y, ys, c.logY)
}

// mostMarks is how many points of a line have marks: more would hide it.
const mostMarks = 40

func (d *drawing) curve(c curve, x, y axis) {
	points := slices.DeleteFunc(slices.Clone(c.points), func(p point) bool { return !x.shows(p.x) || !y.shows(p.y) })
	var path strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x.at(p.x), y.at(p.y))
		if y.shows(p.low) && y.shows(p.high) {
			d.path(c.style+" whisker", "M%.1f %.1fV%.1fm-4 0h8M%.1f %.1fh8", x.at(p.x), y.at(p.low), y.at(p.high), x.at(p.x)-4, y.at(p.low))
		}
	}
	d.path(c.style+" line", "%s", path.String())
	d.tip("%s", c.name)
	if len(points) > mostMarks {
		return
	}
	for _, p := range points {
		d.mark(c.style, x.at(p.x), y.at(p.y), 4)
		d.tip("%s: %s %s, %s %s", c.name, x.label, x.text(p.x), y.label, y.text(p.y))
	}
}

// text writes a value of the axis in full.
func (a axis) text(v float64) string {
	if steps, _ := unitSteps(a.unit); len(steps) > 1 {
		return scaleFor(a.unit, v).text(v)
	}
	return strings.TrimSpace(parameter(rounded(v)) + " " + a.unit)
}

// entry is a line of the legend.
type entry struct{ name, style string }

func (c curves) legend() (list []entry) {
	for _, line := range c.lines {
		if e := (entry{line.name, line.style}); !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// legend writes the title and, below it, who is who. It returns where the frame
// may begin.
func (d *drawing) legend(entries []entry, left float64) (top float64) {
	d.text("title", 8, 20, d.Title)
	x, y := left, marginTop+lineHeight/2
	for i, e := range entries {
		needs := wide(e.name) + 44
		if i > 0 && x+needs > plotWidth-marginRight {
			x, y = left, y+lineHeight
		}
		d.path(e.style+" line", "M%.1f %.1fh22", x, y)
		d.mark(e.style, x+11, y, 4)
		d.text("", x+28, y+4, e.name)
		x += needs
	}
	return y + lineHeight
}

// describe says in words what the plot shows.
func (c curves) describe() string {
	var lines []string
	for _, line := range c.lines {
		if n := len(line.points); n > 0 {
			first, last := line.points[0], line.points[n-1]
			lines = append(lines, fmt.Sprintf("%s from (%.4g, %.4g) to (%.4g, %.4g)", line.name, first.x, first.y, last.x, last.y))
		}
	}
	return fmt.Sprintf("%s over %s: %s", c.y, c.x, strings.Join(lines, "; "))
}
