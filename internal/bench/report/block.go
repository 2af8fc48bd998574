package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/bench"
)

// block is one metric: what the table and the page show together. Rows come by
// their parameters as the scenario gave them, then by device: the baseline first
// and the control last.
type block struct {
	metric, unit string
	keys         []string // of the parameters, sorted
	rows         []row
}

// row is one metric of one device at one set of parameters.
type row struct {
	bench.Result
	ratio   *bench.Ratio
	control bool
	style   int // which colour and mark the device has
	scale   scale
}

// blocks arranges the results of a report.
func blocks(r bench.Report) (list []*block) {
	devices := devicesOf(r)
	var groups []string
	for _, result := range r.Results {
		b := find(list, result.Metric)
		if b == nil {
			b = &block{metric: result.Metric, unit: result.Unit}
			list = append(list, b)
		}
		for key := range result.Parameters {
			if !slices.Contains(b.keys, key) {
				b.keys = append(b.keys, key)
			}
		}
		if group := parameters(result.Parameters); !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		b.rows = append(b.rows, row{
			Result: result, ratio: ratioOf(r, result), control: result.DUT == r.Control, style: slices.Index(devices, result.DUT),
		})
	}
	for _, b := range list {
		slices.Sort(b.keys)
		slices.SortStableFunc(b.rows, func(x, y row) int {
			byGroup := slices.Index(groups, parameters(x.Parameters)) - slices.Index(groups, parameters(y.Parameters))
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
