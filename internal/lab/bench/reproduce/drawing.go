package reproduce

import (
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// drawing is a figure of a paper, drawn as it is there: a metric over what was varied,
// a line for each device.
type drawing struct {
	item  string // of the finding that it illustrates
	name  string // of its file
	job   string
	plot  string // a metric, or a plot of curves by its name
	where at     // parameters that all its points have
}

// drawings lists them. Rates are drawn, as the papers did, and not the costs by which
// points are judged.
var drawings = []drawing{
	{item: "Table 16, Figure 25", name: "figure-25-new", job: hashLoad.Name, plot: "rate"},
	{item: "Table 16, Figure 25", name: "figure-25-known", job: hashLoad.Name, plot: "rate_reuse"},
	{item: "Figures 28 to 30", name: "figure-28", job: position.Name, plot: "rate"},
	{item: "Figure 31", name: "figure-31", job: markDNAT.Name, plot: "rate"},
	{item: "Table 18, Figure 33", name: "figure-33", job: arrangement.Name, plot: "rate", where: at{"levels": 1}},
	{item: "Table 19, Figure 35", name: "figure-35", job: arrangement.Name, plot: "rate", where: at{"chains": 256}},
	{item: "Figures 15, 16", name: "figure-15", job: ruleCount.Name, plot: "rate"},
	{item: "the last figure", name: "rule-load", job: ruleLoad.Name, plot: "seconds"},
	{item: "Figures 3 to 13, as curves", name: "figure-5-routed", job: offered.Name, plot: "replies", where: at{"layer": 1}},
	{item: "Figures 3 to 13, as curves", name: "figure-7-tracked", job: offered.Name, plot: "replies", where: at{"layer": 2}},
	{item: "Figures 3 to 13, as curves", name: "figure-9-filtered", job: offered.Name, plot: "replies", where: at{"layer": 3}},
	{item: "Figures 3 to 13, as curves", name: "figure-11-translated", job: offered.Name, plot: "replies", where: at{"layer": 4}},
	{item: "Figure 14", name: "figure-14", job: manyIptables.Name, plot: "connections over time"},
	{item: "the sweep", name: "geofence-sweep", job: protecting.Name, plot: "passed"},
}

func (d drawing) file() string { return d.name + ".svg" }

// there reports whether there are two points at least to draw.
func (d drawing) there(e Evidence) bool {
	r := d.drawn(e)
	points := map[string]bool{}
	for _, result := range r.Results {
		points[at(result.Parameters).String()] = true
	}
	return len(points) > 1 || slices.ContainsFunc(r.Series, func(s bench.Series) bool { return s.Plot == d.plot && len(s.Points) > 1 })
}

// drawn is the report with what the figure shows alone.
func (d drawing) drawn(e Evidence) bench.Report {
	r := e[d.job]
	r.Results = slices.DeleteFunc(slices.Clone(r.Results), func(result bench.Result) bool {
		return result.Metric != d.plot || result.DUT == "model" || !d.where.match(result.Parameters)
	})
	return r
}

// pictures links the drawings of a finding.
func pictures(e Evidence, item string) string {
	var links []string
	for _, d := range drawings {
		if d.item == item && d.there(e) {
			links = append(links, "["+d.name+"]("+d.file()+")")
		}
	}
	if len(links) == 0 {
		return ""
	}
	return "; drawn: " + strings.Join(links, ", ")
}
