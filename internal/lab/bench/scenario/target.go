package scenario

import (
	"context"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

var targets = bench.Scenario{
	Name:    "targets",
	About:   "what a rule's target costs: ACCEPT, NOTRACK, MARK, DNAT, SNAT and both (Sharma Figure 27)",
	Devices: []string{"iptables", "nftables", "realmgate"}, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 20_000, Repeat: 2,
	Run: func(ctx context.Context, b *bench.Bench) error {
		flows, pool := bench.FlowsFor(b.Sessions, b.Hosts)
		dnat := trafficgen.DNAT{
			From: trafficgen.Addresses{First: bench.Forwarded, Count: flows.Destinations.Count},
			To:   flows.Destinations.First,
		}
		noteSources(b)
		b.Note("Sharma has no DROP: a tester that counts what arrives has nothing to count; realmgate always translates: SNAT from inside is what it is beside")
		list := []target{
			{"accept", bench.Setup{Track: true}},
			{"notrack", bench.Setup{NoTrack: true}},
			{"mark", bench.Setup{Track: true, Mark: true}},
			{"dnat", bench.Setup{DNAT: dnat}},
			{"snat", bench.Setup{NAT: pool}},
			{"snat_dnat", bench.Setup{NAT: pool, DNAT: dnat}},
		}
		return sweep(ctx, b, list, func(t target) bench.Comparison { return t.comparison(flows) })
	},
}

// target is a rule's, and the least that a device does for it.
type target struct {
	name  string
	setup bench.Setup
}

// comparison names the metrics by the target, which is no number: rate_dnat and
// rate_dnat_reuse.
func (t target) comparison(flows trafficgen.Flows) bench.Comparison {
	t.setup.Sessions, t.setup.Timeout = flows.Count(), natTimeout
	if t.setup.DNAT != (trafficgen.DNAT{}) {
		flows.Destinations = t.setup.DNAT.From
	}
	return bench.Comparison{
		Setup: t.setup, Flows: flows,
		Measure: func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			measures, err := measureSessions(ctx, bed)
			for i := range measures {
				measures[i].Metric = "rate_" + t.name + measures[i].Metric[len("rate"):]
			}
			return measures, err
		},
	}
}
