package scenario

import (
	"context"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// The controls of Kadlecsik and Pásztor section 4: what plain forwarding, connection tracking
// and ten rules cost, by the same traffic. Its test of NAT is nat44-establish and
// nat44-throughput.
var (
	routing = control("routing", "plain forwarding, the control of all others (Kadlecsik and Pásztor section 4.1)",
		bench.Setup{}, "route")
	tracking = control("conntrack", "what connection tracking adds to forwarding (Kadlecsik and Pásztor section 4.2)",
		bench.Setup{Track: true}, "route", "conntrack", "iptables", "nftables")
	filter = control("filter", "what ten rules that match nothing add to connection tracking (Kadlecsik and Pásztor section 4.2)",
		bench.Setup{Track: true, Deny: trafficgen.Addresses{First: bench.Denied, Count: 10}}, "route", "conntrack", "iptables", "nftables", "ipset", "realmgate")
)

var flowCount = bench.Scenario{
	Name:    "flow-count",
	About:   "packets of 0.1 to 16 million flows that nobody tracks (Sharma Table 15)",
	Devices: []string{"route", "iptables"}, Modes: []bench.Mode{bench.SelfClocked}, Repeat: 2,
	Run: func(ctx context.Context, b *bench.Bench) error {
		b.Note("iptables has a rule of NOTRACK; the flows of all points go through the same devices")
		counts := points(b, []int{100, 1000}, []int{100_000, 1_000_000, 4_000_000}, []int{1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000})
		return sweep(ctx, b, counts, func(count int) bench.Comparison {
			flows, _ := bench.FlowsFor(count, b.Hosts)
			return bench.Comparison{
				Setup: bench.Setup{Sessions: slices.Max(counts), Timeout: natTimeout, NoTrack: true}, Flows: flows,
				Parameters: map[string]float64{"flows": float64(flows.Count())}, Measure: measureSessions,
			}
		})
	},
}

// translating is a setup for a device that always translates, where there is one.
func translating(b *bench.Bench, s bench.Setup, pool trafficgen.Addresses) *bench.Setup {
	if slices.ContainsFunc(b.Devices, func(m bench.Model) bool { return m.Translates }) {
		b.Note("realmgate always translates, here sources, which the others do not: what its rules take is its cost with them less its cost with the fewest")
	}
	s.NAT, s.DNAT = pool, trafficgen.DNAT{}
	return &s
}

// control compares devices that translate nothing. The devices route and conntrack
// do nothing else in any of them.
func control(name, about string, setup bench.Setup, devices ...string) bench.Scenario {
	return bench.Scenario{
		Name: name, About: about, Devices: devices, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 100_000,
		Run: func(ctx context.Context, b *bench.Bench) error {
			flows, pool := bench.FlowsFor(b.Sessions, b.Hosts)
			setup.Sessions, setup.Timeout = flows.Count(), natTimeout
			expect(b, 1)
			return b.Compare(ctx, bench.Comparison{Setup: setup, Translating: translating(b, setup, pool), Flows: flows, Measure: measureSessions})
		},
	}
}
