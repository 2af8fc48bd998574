package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// addVerdicts gives every rate of a device what deciding takes it: the time of a session
// beyond that of the device which is the same without, in the same or the next round.
// without names that by the other.
func (b *Bench) addVerdicts(c *collector, without map[string]string) {
	for _, r := range slices.Clone(c.results) {
		base := c.find(without[r.DUT], r.Metric)
		if r.Unit != PerSecond || base == nil {
			continue
		}
		verdict := c.result(r.DUT, Measure{Metric: "verdict" + strings.TrimPrefix(r.Metric, "rate"), Unit: "ns"})
		verdict.Gates = maps.Clone(r.Gates)
		for _, t := range r.Trials {
			rate, ok := base.nearest(t.Round)
			if !ok {
				t.Invalid = base.DUT + " has no valid trial"
			}
			t.Value = method.Number(method.Cost(float64(t.Value), rate))
			verdict.Trials = append(verdict.Trials, t)
		}
		if values := verdict.values(); len(values) > 0 && slices.Min(values) <= 0 {
			verdict.Unresolved = fmt.Sprintf("in a round it is %.1f ns, not above zero", slices.Min(values))
			b.Note("%s of %s is unresolved, and in no ratio: %s", verdict.Metric, r.DUT, verdict.Unresolved)
		}
	}
}
