package report

import (
	"math"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// tester is the gate that fails where the tester is the limit.
const tester = "generator"

// LowerBound summarises a rate of which no trial is valid for the one reason that
// the tester could not send faster: the device passed all of it, and does at least
// that.
func LowerBound(r bench.Result) (method.Summary, bool) {
	if r.Unit != bench.PerSecond || len(r.Trials) == 0 {
		return method.Summary{}, false
	}
	for name, gate := range r.Gates {
		if name != tester && gate.Failed > 0 {
			return method.Summary{}, false
		}
	}
	var passed []float64
	for _, t := range r.Trials {
		if !strings.HasPrefix(t.Invalid, tester+": ") || math.IsNaN(float64(t.Value)) {
			return method.Summary{}, false
		}
		passed = append(passed, float64(t.Value))
	}
	return method.Summarise(passed), true
}
