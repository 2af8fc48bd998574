package reproduce

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

// drawing is a figure of a paper, drawn as it is there: a metric over what was varied,
// a line for each device, or bars.
type drawing struct {
	item   string // of the finding that it illustrates
	title  string
	name   string // of its file
	job    string
	beside []string                      // jobs whose curves are in it too
	plot   string                        // a metric, or a plot of curves by its name
	where  at                            // parameters that all its points have
	over   string                        // the parameter that was varied; none: the one with the most values
	values []float64                     // of that; none: all that were measured
	lines  []line                        // instead of one for each device
	alone  bool                          // without the control, whose rate would leave the others no room on an even axis
	groups func(Evidence) []report.Group // of bars, where they are not of lines
}

// line is a line of a drawing or, in a group, a bar.
type line struct {
	name, group string
	dut         string
	metric      string // none: the drawing's
	where       at
}

func (d drawing) file() string { return d.name + ".svg" }

func (d drawing) bars() bool { return d.groups != nil || len(d.lines) > 0 && d.lines[0].group != "" }

// there reports whether there are two points or groups at least to draw.
func (d drawing) there(e Evidence) bool {
	if d.bars() {
		return len(d.grouped(e)) > 1
	}
	r := d.drawn(e)
	points := map[string]bool{}
	for _, result := range r.Results {
		if math.IsNaN(float64(result.Median)) {
			continue
		}
		points[result.Metric+at(result.Parameters).String()] = true
	}
	return len(points) > 1 || slices.ContainsFunc(r.Series, func(s bench.Series) bool { return s.Plot == d.plot && len(s.Points) > 1 })
}

// drawn is the report with what the figure shows alone.
func (d drawing) drawn(e Evidence) bench.Report {
	r := e[d.job]
	r.Scenario = d.title
	for _, job := range d.beside {
		r.Series = slices.Concat(r.Series, e[job].Series)
		r.Devices = slices.Concat(r.Devices, e[job].Devices)
	}
	measured := r.Results
	r.Results = nil
	if len(d.lines) == 0 {
		for _, result := range measured {
			if result.Metric == d.plot && result.DUT != "model" && (!d.alone || result.DUT != r.Control) {
				d.add(&r, result, line{name: result.DUT, where: d.where})
			}
		}
		return r
	}
	r.Devices, r.Control = nil, ""
	for _, l := range d.lines {
		for _, result := range measured {
			if result.DUT == l.dut && result.Metric == cmp.Or(l.metric, d.plot) {
				d.add(&r, result, l)
			}
		}
	}
	return r
}

// add puts a result into a report as a point of a line, if it is one. Its parameters are
// then but what it is drawn over.
func (d drawing) add(r *bench.Report, result bench.Result, l line) {
	if !l.where.match(result.Parameters) || len(d.values) > 0 && !slices.Contains(d.values, result.Parameters[d.over]) {
		return
	}
	result.DUT, result.Metric = l.name, d.plot
	if d.over != "" {
		result.Parameters = maps.Clone(result.Parameters)
		maps.DeleteFunc(result.Parameters, func(key string, _ float64) bool { return key != d.over })
	}
	r.Results = append(r.Results, result)
}

// grouped are the groups of bars that have any.
func (d drawing) grouped(e Evidence) (list []report.Group) {
	if d.groups != nil {
		return d.groups(e)
	}
	for _, l := range d.lines {
		for _, result := range e[d.job].Results {
			if result.DUT != l.dut || result.Metric != cmp.Or(l.metric, d.plot) || !l.where.match(result.Parameters) || math.IsNaN(float64(result.Median)) {
				continue
			}
			i := slices.IndexFunc(list, func(g report.Group) bool { return g.Name == l.group })
			if i < 0 {
				i, list = len(list), append(list, report.Group{Name: l.group})
			}
			result.DUT = l.name
			list[i].Results = append(list[i].Results, result)
		}
	}
	return list
}

// draw writes the figure as SVG.
func (d drawing) draw(w io.Writer, e Evidence) error {
	if d.bars() {
		return report.Bars(w, d.title, d.plot, d.grouped(e))
	}
	return report.SVG(w, d.drawn(e), d.plot)
}

// pictures links the drawings of a finding.
func pictures(e Evidence, item string) string {
	var links []string
	for _, d := range drawings {
		if d.item == item && d.there(e) {
			links = append(links, fmt.Sprintf("[%s](%s)", d.name, d.file()))
		}
	}
	if len(links) == 0 {
		return ""
	}
	return "; drawn: " + strings.Join(links, ", ")
}
