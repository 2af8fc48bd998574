package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// columns of result.csv.
var columns = []string{"scenario", "dut", "metric", "unit", "parameters", "round", "value", "valid", "invalid_because"}

// CSV writes a line for each trial, with every digit.
func CSV(w io.Writer, r bench.Report) error {
	c := csv.NewWriter(w)
	lines := [][]string{columns}
	for _, result := range r.Results {
		for _, t := range result.Trials {
			value := ""
			if v := float64(t.Value); finite(v) {
				value = strconv.FormatFloat(v, 'f', -1, 64)
			}
			lines = append(lines, []string{
				r.Scenario, result.DUT, result.Metric, result.Unit, plainParameters(result.Parameters),
				strconv.Itoa(t.Round), value, strconv.FormatBool(t.Invalid == ""), t.Invalid,
			})
		}
	}
	if err := c.WriteAll(lines); err != nil {
		return fmt.Errorf("write the trials: %w", err)
	}
	return nil
}

// plainParameters are for programs: no thousands apart, "a=1;b=2".
func plainParameters(p map[string]float64) (text string) {
	for i, key := range sortedKeys(p) {
		if i > 0 {
			text += ";"
		}
		text += key + "=" + strconv.FormatFloat(p[key], 'f', -1, 64)
	}
	return text
}
