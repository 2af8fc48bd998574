package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"draw":     func(f figure) (template.HTML, error) { return f.inline() },
	"meaning":  func(metric string) string { return sentence(meaning(metric)) },
	"gate":     func(name string) string { return gates[name] },
	"values":   parameters,
	"gigabyte": func(n uint64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) },
	"duration": func(s float64) string { return time.Duration(s * float64(time.Second)).Round(time.Second).String() },
	"has":      strings.Contains,
}).ParseFS(files, "page.css", "plot.css", "page.html.tmpl"))

// HTML writes one page that needs nothing else: no script, no font, no picture
// from elsewhere. Who was not there must understand it.
func HTML(w io.Writer, r bench.Report) error {
	p := page{Report: r, Gates: gateRows(r), Refused: refused(r)}
	for _, b := range blocks(r) {
		p.Metrics = append(p.Metrics, metricOf(b))
		p.First = p.First || b.long()
	}
	p.Curves, p.Traces = ownCurves(r)
	if err := pageTemplate.ExecuteTemplate(w, "page.html.tmpl", p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// sentence makes one of words.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

// page is what the template shows.
type page struct {
	bench.Report
	Metrics []pageMetric
	Curves  []figure
	Traces  []figure // of searches
	First   bool     // the curves come before long tables
	Gates   []gateRow
	Refused []refusal
}

// pageMetric is a metric's section.
type pageMetric struct {
	Name, Baseline string
	Keys           []string
	Of             string            // what tells members of a family apart
	Words          map[string]string // what keys are
	Folded         bool              // the table is long
	Bound          bool              // some figure is a lower bound
	Rows           []pageRow
	Plot           figure
	Each           []figure // every trial, where Plot shows medians
	Unsteady       bool     // some ratio is
}

// pageRow is a line of a metric's table.
type pageRow struct {
	DUT, Unit, Median, P1, P99, Ratio, Span string
	Values                                  []string // of the parameters; none where they are those of the row above
	Begins                                  bool     // another set of parameters
	Control, Unsteady, Bound                bool
	Valid, Made                             int
	Trials                                  []bench.Trial
}

// steady is how far a round's ratio may lie from the median of all without a
// remark.
const steady = 0.15

func metricOf(b *block) pageMetric {
	m := pageMetric{Name: b.metric, Keys: b.keys, Of: b.of, Words: map[string]string{}, Plot: b.figure(), Folded: b.long()}
	for _, key := range b.keys {
		if words, known := axes[key]; known && words != key {
			m.Words[key] = words
		}
	}
	measured := slices.ContainsFunc(b.rows, func(r row) bool { return len(r.Trials) > 0 })
	if _, swept := b.scaling(); measured && (swept || b.of != "") {
		m.Each = b.trialFigures()
	}
	for i, r := range b.rows {
		row := pageRow{
			DUT: r.DUT, Unit: r.scale.unit, Median: r.scale.number(float64(r.Median)), P1: r.scale.number(float64(r.P1)),
			P99: r.scale.number(float64(r.P99)), Control: r.control, Valid: r.valid(), Made: len(r.Trials), Trials: r.Trials,
			Begins: i > 0 && r.group() != b.rows[i-1].group(), Bound: r.bound,
		}
		if row.Made == 0 { // computed: there is no spread
			row.P1, row.P99 = "", ""
		}
		row.Median = r.sign() + row.Median
		m.Bound = m.Bound || r.bound
		row.Ratio, row.Span = r.ratioText()
		row.Values = b.cells(r)
		if i > 0 && !row.Begins {
			row.Values = make([]string, len(row.Values))
		}
		row.Begins = row.Begins && len(b.devices()) > 1
		if q := r.ratio; q != nil {
			m.Baseline = q.Baseline
			row.Unsteady = q.Least < q.Value*(1-steady) || q.Most > q.Value*(1+steady)
			m.Unsteady = m.Unsteady || row.Unsteady
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// gateRow is a gate over all results.
type gateRow struct {
	Name string
	bench.Gate
}

// gateRows adds up how often each gate held. Metrics of one trial share its gates,
// so of a device's metrics the one that had most trials counts.
func gateRows(r bench.Report) (list []gateRow) {
	type place struct{ gate, dut, parameters string }
	most := map[place]bench.Gate{}
	for _, result := range r.Results {
		for name, gate := range result.Gates {
			at := place{name, result.DUT, parameters(result.Parameters)}
			if known, ok := most[at]; !ok || gate.Passed+gate.Failed > known.Passed+known.Failed {
				most[at] = gate
			}
		}
	}
	sum := map[string]bench.Gate{}
	for at, gate := range most {
		all := sum[at.gate]
		all.Passed, all.Failed = all.Passed+gate.Passed, all.Failed+gate.Failed
		sum[at.gate] = all
	}
	for _, name := range sortedKeys(sum) {
		list = append(list, gateRow{name, sum[name]})
	}
	return list
}

// refusal is an invalid trial.
type refusal struct {
	DUT, Metric, Values, Value string
	bench.Trial
}

func refused(r bench.Report) (list []refusal) {
	for _, b := range blocks(r) {
		for _, row := range b.rows {
			for _, t := range row.Trials {
				if t.Invalid != "" {
					list = append(list, refusal{row.DUT, b.metric, parameters(row.Parameters), row.scale.text(float64(t.Value)), t})
				}
			}
		}
	}
	return list
}
