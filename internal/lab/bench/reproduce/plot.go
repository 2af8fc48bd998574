package reproduce

import (
	"fmt"
	"io"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

// plotJobs are the jobs whose costs the plot shows, with what each is called there.
var plotJobs = []struct {
	of  string
	job Job
}{
	{"new session", establish},
	{"established, from inside", forward},
	{"established, from outside", reverse},
	{"established, both ways", throughput},
}

// plotted puts the costs of the jobs into one report, so that it draws them side by
// side.
func plotted(e Evidence) bench.Report {
	r := bench.Report{Scenario: fmt.Sprintf("%s sessions", si(float64(establish.Sessions))), Devices: establish.Devices}
	for _, p := range plotJobs {
		for _, result := range e[p.job.Name].Results {
			if result.Metric == "cost" {
				result.Metric = "cost_" + p.of
				r.Results = append(r.Results, result)
			}
		}
	}
	return r
}

// plottable says whether there are costs of two jobs at least to draw side by side.
func plottable(e Evidence) bool {
	metrics := map[string]bool{}
	for _, result := range plotted(e).Results {
		metrics[result.Metric] = true
	}
	return len(metrics) > 1
}

// Plot draws the costs of the summary, every trial, as SVG.
func Plot(w io.Writer, e Evidence) error { return report.SVG(w, plotted(e), "cost") }
