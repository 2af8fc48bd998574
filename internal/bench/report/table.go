package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/method"
)

// Table writes the results as a person reads them: the median, the 1st and 99th
// percentile, and the ratio to the first device.
func Table(w io.Writer, r bench.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "device\tmetric\tmedian\tp1\tp99\tunit\tratio\t(from to)\ttrials\t\n")
	for _, result := range r.Results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", result.DUT, name(result), figure(result.Median), figure(result.P1), figure(result.P99),
			result.Unit, ratioOf(r, result), valid(result))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range append(failures(r), r.Notes...) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// name is the metric with its parameters.
func name(r bench.Result) string {
	name := r.Metric
	for _, key := range sortedKeys(r.Parameters) {
		name += fmt.Sprintf(" %s=%g", key, r.Parameters[key])
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// figure writes three or four digits that matter.
func figure(n method.Number) string {
	v := float64(n)
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case size >= 1e7:
		return fmt.Sprintf("%.2f M", v/1e6)
	case size >= 1e4:
		return fmt.Sprintf("%.1f k", v/1e3)
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// ratioOf has two columns.
func ratioOf(r bench.Report, result bench.Result) string {
	for _, q := range r.Ratios {
		if q.DUT == result.DUT && q.Metric == result.Metric && fmt.Sprint(q.Parameters) == fmt.Sprint(result.Parameters) {
			return fmt.Sprintf("%.2f\t(%.2f %.2f)", q.Value, q.Least, q.Most)
		}
	}
	return "\t"
}

func valid(r bench.Result) string {
	n := 0
	for _, t := range r.Trials {
		if t.Invalid == "" {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(r.Trials))
}

// failures says which gates failed.
func failures(r bench.Report) (lines []string) {
	for _, result := range r.Results {
		for _, key := range sortedKeys(result.Gates) {
			if gate := result.Gates[key]; gate.Failed > 0 {
				lines = append(lines, fmt.Sprintf("%s, %s: invalid %d of %d times, %s: %s", result.DUT, result.Metric,
					gate.Failed, gate.Failed+gate.Passed, key, strings.TrimSpace(gate.Detail)))
			}
		}
	}
	return lines
}
