package scenario

import (
	"context"

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
		bench.Setup{Track: true, Deny: trafficgen.Addresses{First: bench.Denied, Count: 10}}, "route", "conntrack", "iptables", "nftables", "ipset")
)

// control compares devices that translate nothing. The devices route and conntrack
// do nothing else in any of them.
func control(name, about string, setup bench.Setup, devices ...string) bench.Scenario {
	return bench.Scenario{
		Name: name, About: about, Devices: devices, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 100_000,
		Run: func(ctx context.Context, b *bench.Bench) error {
			flows, _ := bench.FlowsFor(b.Sessions, b.Hosts)
			setup.Sessions, setup.Timeout = flows.Count(), natTimeout
			expect(b, 1)
			return b.Compare(ctx, bench.Comparison{Setup: setup, Flows: flows, Measure: measureSessions})
		},
	}
}
