package reproduce

import (
	"bytes"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

// Every drawing is of a finding, and of a job that this needs; what has one point is none.
func TestDrawings(t *testing.T) {
	t.Parallel()
	for _, d := range drawings {
		needed := false
		for _, job := range finding(t, d.item).Needs {
			needed = needed || job.Name == d.job
		}
		if !needed {
			t.Errorf("%s is drawn from %s, which %s does not need", d.name, d.job, d.item)
		}
		place := func(x float64) at {
			where := at{"x": x}
			for key, value := range d.where {
				where[key] = value
			}
			return where
		}
		one := reportOf(resultOf("iptables", d.plot, 5, narrow, place(1)))
		e := Evidence{d.job: one}
		if d.there(e) {
			t.Errorf("%s is drawn from one point", d.name)
		}
		if d.plot == "connections over time" {
			one.Series = []bench.Series{{DUT: "iptables", Plot: d.plot, X: "s", Y: "connections", Points: [][2]float64{{1, 2}, {2, 4}}}}
		} else {
			one.Results = append(one.Results, resultOf("iptables", d.plot, 7, narrow, place(2))...)
			one.Results = append(one.Results, resultOf("iptables", "another", 7, narrow, place(2))...)
		}
		one.Devices = []string{"iptables"}
		e[d.job] = one
		var svg bytes.Buffer
		if err := report.SVG(&svg, d.drawn(e), d.plot); !d.there(e) || err != nil || !strings.Contains(svg.String(), "iptables") {
			t.Errorf("%s: %v, %d octets", d.name, err, svg.Len())
		}
		if text := pictures(e, d.item); !strings.Contains(text, d.file()) {
			t.Errorf("the row of %s has %q", d.item, text)
		}
	}
}
