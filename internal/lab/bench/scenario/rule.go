package scenario

import (
	"context"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// visits is about how many rules a trial may look at, so that none takes long
// where each session passes by thousands.
const visits = 20_000_000

// linear devices look at their rules one by one.
var linear = []string{"iptables", "iptables-nft", "nftables"}

// measureRules is measureSessions where each session passes by so many rules:
// linear devices get fewer sessions then. Their packets afterwards would find more of
// these in the CPU's caches than those of the others: rate_reuse is left out.
func measureRules(b *bench.Bench, rules int) func(context.Context, *bench.Bed) ([]bench.Measure, error) {
	return func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		if ports := &bed.Tester.Flows.SourcePorts; slices.Contains(linear, bed.DUT.Name) {
			most := max(500, visits/max(rules, 1))
			ports.Count = max(1, min(ports.Count, most*ports.Count/bed.Tester.Flows.Count()))
		}
		measures, err := measureSessions(ctx, bed)
		if n := bed.Tester.Flows.Count(); err == nil && n < bed.DUT.Setup.Sessions {
			measures = slices.DeleteFunc(measures, func(m bench.Measure) bool { return m.Metric == "rate_reuse" })
			b.Note("%s has %d sessions where each passes by %d rules, and the devices that do not have %d: its rate_reuse, which depends on that, is left out there",
				bed.DUT.Name, n, rules, bed.DUT.Setup.Sessions)
		}
		return measures, err
	}
}

var ruleCount = bench.Scenario{
	Name:    "rule-count",
	About:   "new sessions past 1 to 65,536 rules that do not match, linear and in sets (Kadlecsik and Pásztor section 4.3)",
	Devices: []string{"iptables", "nftables", "nftables-set", "ipset", "realmgate", "realmgate-set"}, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 20_000, Repeat: 3,
	Run: func(ctx context.Context, b *bench.Bench) error {
		counts := points(b, []int{1, 64}, []int{1, 16, 256, 4096, 65536},
			[]int{1, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536})
		return sweep(ctx, b, counts, func(count int) bench.Comparison { return ruleComparison(b, count, measureRules(b, count)) })
	},
}

// ruleComparison has so many rules that deny what nobody sends to.
func ruleComparison(b *bench.Bench, count int, measure func(context.Context, *bench.Bed) ([]bench.Measure, error)) bench.Comparison {
	flows, pool := bench.FlowsFor(b.Sessions, b.Hosts)
	setup := bench.Setup{
		Sessions: flows.Count(), Timeout: natTimeout, Track: true,
		Deny: trafficgen.Addresses{First: bench.Denied, Count: count},
	}
	return bench.Comparison{
		Setup: setup, Translating: translating(b, setup, pool), Flows: flows, Parameters: map[string]float64{"rules": float64(count)}, Measure: measure,
	}
}

var ruleLoadTime = bench.Scenario{
	Name:    "rule-load-time",
	About:   "seconds to load rules or entries of a set as one transaction, and to add one more (Kadlecsik and Pásztor section 4.3)",
	Devices: []string{"iptables", "iptables-nft", "nftables", "nftables-set", "ipset", "realmgate", "realmgate-set"}, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 1000, Repeat: 3,
	Run: func(ctx context.Context, b *bench.Bench) error {
		counts := points(b, []int{1, 64}, []int{16, 4096, 65536}, []int{16, 64, 256, 1024, 4096, 16384, 65536})
		return sweep(ctx, b, counts, func(count int) bench.Comparison { return ruleComparison(b, count, measureLoad) })
	},
}

// measureLoad loads the rules anew, adds one, and lets sessions pass by them, so that a
// device that only seems to have loaded them does not count.
func measureLoad(ctx context.Context, bed *bench.Bed) (measures []bench.Measure, err error) {
	if loader, ok := bed.DUT.Device.(bench.Loader); ok {
		taken, err := loader.Load(ctx)
		if err != nil {
			return nil, err
		}
		one, err := loader.Add(ctx)
		if err != nil {
			return nil, err
		}
		measures = []bench.Measure{{Metric: "seconds", Unit: "s", Value: taken.Seconds()}, {Metric: "seconds_add", Unit: "s", Value: one.Seconds()}}
	}
	if _, err := bed.Sessions.Establish(ctx, trafficgen.Plan{}); err != nil {
		return nil, err
	}
	return measures, bed.DUT.Reset(ctx)
}

var rulePosition = bench.Scenario{
	Name:    "rule-position",
	About:   "new sessions by the place of the DNAT rule that matches, first to last of 65,536 (Sharma Figures 28 to 30)",
	Devices: []string{"iptables", "nftables", "nftables-set", "realmgate", "realmgate-set"}, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 20_000, Repeat: 2,
	Run: func(ctx context.Context, b *bench.Bench) error {
		b.Note("realmgate's rules say where sessions may go, those of the others where they are sent instead")
		all := points(b, []int{64}, []int{65536}, []int{65536})[0]
		positions := points(b, []int{1, 64}, []int{1, 10, 100, 1000, 10_000, 65536},
			[]int{1, 10, 100, 200, 300, 400, 500, 1000, 10_000, 32768, 65536})
		return sweep(ctx, b, positions, func(position int) bench.Comparison {
			flows, pool := bench.FlowsFor(b.Sessions, b.Hosts)
			dnat := trafficgen.DNAT{From: trafficgen.Addresses{First: bench.Forwarded, Count: all}, To: bench.Destinations.Addr()}
			flows.Destinations = trafficgen.Addresses{First: dnat.From.At(position - 1), Count: 1}
			setup := bench.Setup{Sessions: flows.Count(), Timeout: natTimeout, DNAT: dnat}
			parameters := map[string]float64{"position": float64(position)}
			passing := translating(b, setup, pool)
			passing.Pass = dnat.From
			return bench.Comparison{Setup: setup, Translating: passing, Flows: flows, Parameters: parameters, Measure: measureRules(b, position)}
		})
	},
}
