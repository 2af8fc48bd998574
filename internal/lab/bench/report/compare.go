package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// near is how far the ratios of two runs of one command may differ.
const near = 0.15

// fewest is how many valid trials show a spread.
const fewest = 3

// Compare writes two reports side by side: each metric with its change and whether
// that is within the spread, which it is where the ranges from p1 to p99 overlap; then
// the ratios, which hold better than rates from machine to machine. First it warns of
// what makes them hard to compare.
func Compare(w io.Writer, a, b bench.Report, width int) error {
	if width <= 0 {
		width = usualWidth
	}
	width = max(width, leastWidth)
	var text strings.Builder
	line := func(remark string) {
		for _, part := range wrap(remark, "   ", width) {
			text.WriteString(part + "\n")
		}
	}
	line("A  " + origin(a))
	line("B  " + origin(b))
	if list := unlike(a, b); len(list) > 0 {
		text.WriteString("\nWARNING: the runs are not alike\n")
		for _, difference := range list {
			line("-  " + difference)
		}
	}
	members := membersOf(a)
	maps.Copy(members, membersOf(b))
	pairs := pair(arranged(a), arranged(b), members)
	for _, metric := range metricsOf(pairs) {
		text.WriteString("\n" + metric + "\n" + changes(pairs, metric))
	}
	ratios, held := ratioChanges(a, b)
	if len(ratios) > 1 {
		text.WriteString("\nratios\n" + align(ratios, map[int]bool{0: true, 1: true, 2: true, 8: true}))
	}
	if len(pairs) > 0 {
		text.WriteString("\n")
		line(tally(pairs))
	}
	if len(ratios) > 1 {
		line(fmt.Sprintf("%d of %d ratios are within %.0f %% of each other.", held, len(ratios)-1, 100*near))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func origin(r bench.Report) string {
	text := fmt.Sprintf("%s, %s, realmgate %s: %s", r.Scenario, r.Started.Format(time.DateTime), r.Environment.Tool, r.Command)
	if r.Incomplete != "" {
		text += " (incomplete: " + r.Incomplete + ")"
	}
	return text
}

// unlike lists what was not the same in both runs.
func unlike(a, b bench.Report) (list []string) {
	add := func(what string, x, y any) {
		if fmt.Sprint(x) != fmt.Sprint(y) {
			list = append(list, fmt.Sprintf("%s: A %v, B %v", what, x, y))
		}
	}
	add("scenario", a.Scenario, b.Scenario)
	x, y := a.Environment, b.Environment
	add("program", x.Tool, y.Tool)
	add("kernel", x.Kernel, y.Kernel)
	add("processor", x.CPU, y.CPU)
	add("CPUs", x.CPUs, y.CPUs)
	add("virtual machine", x.Virtual, y.Virtual)
	add("memory", fmt.Sprintf("%.1f GB", float64(x.MemoryBytes)/1e9), fmt.Sprintf("%.1f GB", float64(y.MemoryBytes)/1e9))
	for _, m := range []struct {
		what string
		x, y map[string]string
	}{{"option ", a.Options, b.Options}, {"", x.Settings, y.Settings}, {"mitigation ", x.Mitigations, y.Mitigations}} {
		keys := maps.Clone(m.x)
		if keys == nil {
			keys = map[string]string{}
		}
		maps.Copy(keys, m.y)
		for _, key := range sortedKeys(keys) {
			add(m.what+key, said(m.x[key]), said(m.y[key]))
		}
	}
	return list
}

func said(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// both is a result of each run, or of one.
type both struct {
	a, b   *bench.Result
	family string // the metric, or what it is one of
	member string // as what, with the parameters
}

func (p both) some() bench.Result {
	if p.a != nil {
		return *p.a
	}
	return *p.b
}

// pair puts the same metric, device and parameters together, in A's order and then
// B's.
func pair(a, b []bench.Result, members map[string]member) (list []both) {
	add := func(p both) {
		r := p.some()
		m, belongs := members[r.Metric]
		if !belongs {
			m.family = r.Metric
		}
		p.family, p.member = m.family, strings.TrimSpace(m.name+" "+parameters(r.Parameters))
		list = append(list, p)
	}
	for i := range a {
		add(both{a: &a[i]})
	}
	for i := range b {
		at := slices.IndexFunc(list, func(p both) bool {
			x := p.some()
			return p.b == nil && x.DUT == b[i].DUT && x.Metric == b[i].Metric && maps.Equal(x.Parameters, b[i].Parameters)
		})
		if at < 0 {
			add(both{b: &b[i]})
		} else {
			list[at].b = &b[i]
		}
	}
	return list
}

func metricsOf(pairs []both) (list []string) {
	for _, p := range pairs {
		if m := p.family; !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// changes is the table of a metric.
func changes(pairs []both, metric string) string {
	rows := [][]string{{"DEVICE", "", "A", "P1–P99", "B", "P1–P99", "", "CHANGE", ""}}
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p both) bool { return p.family != metric })
	var medians []float64
	for _, p := range pairs {
		medians = append(medians, float64(p.some().Median))
	}
	for i, s := range scalesFor(pairs[0].some().Unit, medians) {
		p := pairs[i]
		row := []string{p.some().DUT, p.member}
		for _, r := range []*bench.Result{p.a, p.b} {
			if r == nil || !finite(float64(r.Median)) {
				row = append(row, "–", "")
			} else {
				row = append(row, s.number(float64(r.Median)), s.number(float64(r.P1))+"–"+s.number(float64(r.P99)))
			}
		}
		by := ""
		if p.a != nil && p.b != nil {
			by = change(p.a.Median, p.b.Median)
		}
		rows = append(rows, append(row, s.unit, by, p.verdict()))
	}
	return align(rows, map[int]bool{0: true, 1: true, 6: true, 8: true})
}

// change is from a to b in per cent.
func change(a, b method.Number) string {
	if by := float64((b - a) / a * 100); finite(by) {
		return strings.Replace(fmt.Sprintf("%+.1f %%", by), "-", "−", 1)
	}
	return ""
}

// Verdicts on a change.
const (
	within = "within the spread"
	beyond = "beyond the spread"
)

// verdict says whether a change is more than what trials of one run differ by.
func (p both) verdict() string {
	switch {
	case p.a == nil:
		return "only in B"
	case p.b == nil:
		return "only in A"
	}
	switch a, b := finite(float64(p.a.Median)), finite(float64(p.b.Median)); {
	case !a && !b:
		return "no valid trial"
	case !a:
		return "no valid trial in A"
	case !b:
		return "no valid trial in B"
	case p.a.P1 <= p.b.P99 && p.b.P1 <= p.a.P99:
		return within
	case few(*p.a) || few(*p.b):
		return "too few trials to tell"
	}
	return beyond
}

// few says whether a result has too few trials for a spread; one that was computed
// needs none.
func few(r bench.Result) bool { return len(r.Trials) > 0 && row{Result: r}.valid() < fewest }

// tally sums the verdicts up.
func tally(pairs []both) string {
	inside, outside := 0, 0
	for _, p := range pairs {
		switch p.verdict() {
		case within:
			inside++
		case beyond:
			outside++
		}
	}
	return fmt.Sprintf("Within the spread, where both runs' ranges from p1 to p99 overlap and a change says nothing: %d of %d. Beyond it: %d.",
		inside, len(pairs), outside)
}

// ratioChanges compares the ratios that both have, and counts those that are near.
func ratioChanges(a, b bench.Report) (rows [][]string, held int) {
	rows = [][]string{{"METRIC", "", "DEVICE", "A", "FROM–TO", "B", "FROM–TO", "CHANGE", ""}}
	for _, x := range a.Ratios {
		for _, y := range b.Ratios {
			if x.Metric != y.Metric || x.DUT != y.DUT || x.Baseline != y.Baseline || !maps.Equal(x.Parameters, y.Parameters) {
				continue
			}
			apart := math.Abs(math.Log(float64(y.Value / x.Value)))
			if !finite(apart) {
				continue
			}
			remark := fmt.Sprintf("more than %.0f %% apart", 100*near)
			if apart <= math.Log(1+near) {
				remark = fmt.Sprintf("within %.0f %%", 100*near)
				held++
			} else if x.Least <= y.Most && y.Least <= x.Most {
				remark += ", " + within
			}
			former, formerSpan := (row{ratio: &x}).ratioText()
			latter, latterSpan := (row{ratio: &y}).ratioText()
			rows = append(rows, []string{
				x.Metric, parameters(x.Parameters), x.DUT + " to " + x.Baseline, former, formerSpan, latter, latterSpan, change(x.Value, y.Value), remark,
			})
		}
	}
	return rows, held
}
