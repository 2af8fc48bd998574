package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// block is one metric, or a family of them: what the table and the page show
// together. Rows come by their parameters as the scenario gave them, then by device:
// the baseline first and the control last.
type block struct {
	metric, unit string
	keys         []string // of the parameters, sorted
	of           string   // what the rows' members are; empty where they have none
	rows         []row
}

// row is one metric of one device at one set of parameters.
type row struct {
	bench.Result
	values  map[string]float64 // the parameters that are shown
	member  string             // of the block's family
	ratio   *bench.Ratio
	control bool
	bound   bool // the figures are a lower bound: the tester was the limit
	style   int  // which colour and mark the device has
	scale   scale
}

// group is what rows side by side have in common.
func (r row) group() string { return strings.TrimSpace(r.member + " " + parameters(r.values)) }

// blocks arranges the results of a report.
func blocks(r bench.Report) (list []*block) {
	devices, members := devicesOf(r), membersOf(r)
	var groups []string
	for _, result := range r.Results {
		m, belongs := members[result.Metric]
		if !belongs {
			m.family = result.Metric
		}
		b := find(list, m.family)
		if b == nil {
			b = &block{metric: m.family, unit: result.Unit}
			list = append(list, b)
		}
		row := row{Result: result, ratio: ratioOf(r, result), control: result.DUT == r.Control, style: slices.Index(devices, result.DUT)}
		row.values, row.member = result.Parameters, m.name
		if belongs {
			b.of = m.of
		}
		if bound, is := LowerBound(result); is {
			row.Summary, row.bound = bound, true
		}
		for key := range row.values {
			if !slices.Contains(b.keys, key) {
				b.keys = append(b.keys, key)
			}
		}
		if group := row.group(); !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		b.rows = append(b.rows, row)
	}
	for _, b := range list {
		slices.Sort(b.keys)
		slices.SortStableFunc(b.rows, func(x, y row) int {
			byGroup := slices.Index(groups, x.group()) - slices.Index(groups, y.group())
			if byGroup != 0 {
				return byGroup
			}
			return x.style - y.style
		})
		var medians []float64
		for _, row := range b.rows {
			medians = append(medians, float64(row.Median))
		}
		for i, scale := range scalesFor(b.unit, medians) {
			b.rows[i].scale = scale
		}
	}
	return list
}

// arranged are the results in the order of the blocks.
func arranged(r bench.Report) (list []bench.Result) {
	for _, b := range blocks(r) {
		for _, row := range b.rows {
			if row.bound { // no summary by the rules of the format
				row.Summary = method.Summarise(nil)
			}
			list = append(list, row.Result)
		}
	}
	return list
}

func find(list []*block, metric string) *block {
	for _, b := range list {
		if b.metric == metric {
			return b
		}
	}
	return nil
}

// devicesOf lists the devices in the order in which they are shown.
func devicesOf(r bench.Report) []string {
	names := slices.Clone(r.Devices)
	add := func(name string) {
		if name != r.Control && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, result := range r.Results {
		add(result.DUT)
	}
	for _, series := range r.Series {
		add(series.DUT)
	}
	return append(names, r.Control)
}

func ratioOf(r bench.Report, result bench.Result) *bench.Ratio {
	for i, q := range r.Ratios {
		if q.DUT == result.DUT && q.Metric == result.Metric && maps.Equal(q.Parameters, result.Parameters) {
			return &r.Ratios[i]
		}
	}
	return nil
}

// parameters writes them in the order of their names: "load=2 rules=1,024".
func parameters(p map[string]float64) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		list = append(list, key+"="+parameter(p[key]))
	}
	return strings.Join(list, " ")
}

// parameter writes a parameter's value in full.
func parameter(v float64) string { return thousands(strconv.FormatFloat(v, 'f', -1, 64)) }

// valid counts the trials that count.
func (r row) valid() (n int) {
	for _, t := range r.Trials {
		if t.Invalid == "" {
			n++
		}
	}
	return n
}

// ratioText has the median ratio, and the least and the greatest that
// single rounds gave.
func (r row) ratioText() (value, span string) {
	if r.ratio == nil {
		return "", ""
	}
	of := float64(r.ratio.Value)
	if !finite(of) {
		return "–", ""
	}
	s := scale{divisor: 1, decimals: 2}
	if size := math.Abs(of); size < 0.1 && size > 0 { // two digits that matter
		s.decimals = 1 - int(math.Floor(math.Log10(size)))
	}
	return s.number(of), fmt.Sprintf("%s–%s", s.number(float64(r.ratio.Least)), s.number(float64(r.ratio.Most)))
}
