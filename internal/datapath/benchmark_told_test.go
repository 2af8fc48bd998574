package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// BenchmarkTold measures what a first packet takes longer while somebody hears of mappings, and of sessions, too: beyond the
// same session of which nobody does. Who hears counts alone. In each round all of them open as many sessions, one after the
// other.
func BenchmarkTold(b *testing.B) {
	const fresh = benchmarkFlows / 3
	const sessions = benchmarkFlows - fresh
	options := Options{Capacity: benchmarkFlows, Outbound: outboundAddresses(1 + benchmarkFlows/32_000)}
	heard := func(FlowEvent) {}
	var rigs []*rig
	for _, watch := range []*Watch{nil, {Mapping: heard}, {Mapping: heard, Session: heard}} {
		r := newRig(b, options)
		if err := r.data.Watch(watch); err != nil {
			b.Fatal(err)
		}
		r.fill(sessions, model.UDP)
		r.aim(flows(sessions, options.Capacity, model.UDP))
		rigs = append(rigs, r)
	}
	beyond := compareRigs(b, rigs, func(i int, r *rig, t *timings) {
		r.measure(t, r.program(false), false, i*(fresh/rounds), fresh/rounds)
	})
	for k, name := range []string{"mappings", "sessions"} {
		b.ReportMetric(beyond[k], name+"-ns")
	}
	for i, r := range rigs {
		if untold, _, err := r.data.FlowsUntold(); err != nil || untold > 0 {
			b.Logf("rig %d: %d untold, %v", i, untold, err)
		}
	}
}
