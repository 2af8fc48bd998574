package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// The arrangements of 65,536 rules in Tables 18 and 19 of Sharma.
var (
	linearArrangements = []method.Arrangement{
		{Selectors: []int{1}, Rules: 65536}, {Selectors: []int{2}, Rules: 32768}, {Selectors: []int{4}, Rules: 16384},
		{Selectors: []int{8}, Rules: 8192}, {Selectors: []int{16}, Rules: 4096}, {Selectors: []int{32}, Rules: 2048},
		{Selectors: []int{64}, Rules: 1024}, {Selectors: []int{128}, Rules: 512}, {Selectors: []int{256}, Rules: 256},
	}
	nestedArrangements = []method.Arrangement{
		{Selectors: []int{16, 16}, Rules: 256}, {Selectors: []int{4, 8, 8}, Rules: 256}, {Selectors: []int{4, 4, 4, 4}, Rules: 256},
	}
)

// everyArrangement is in the order of the tables.
func everyArrangement() []method.Arrangement {
	return append(append([]method.Arrangement(nil), linearArrangements...), nestedArrangements...)
}

var ruleArrangement = bench.Scenario{
	Name:    "rule-arrangement",
	About:   "65,536 rules in linear and nested chains, with the rules looked at by the model (Sharma Tables 18 and 19)",
	Devices: []string{"iptables", "nftables", "nftables-set", "realmgate", "realmgate-set"}, Modes: []bench.Mode{bench.SelfClocked}, Sessions: 65536, Repeat: 2,
	Model: modelArrangement,
	Run: func(ctx context.Context, b *bench.Bench) error {
		if err := modelArrangement(b); err != nil {
			return err
		}
		b.Note("realmgate has all of them in one filter, whatever the arrangement: its compiler arranges them; each of its packets begins a session, which the others do not have")
		smoke := []method.Arrangement{{Selectors: []int{4}, Rules: 16}, {Selectors: []int{2, 4}, Rules: 8}}
		quick := append([]method.Arrangement{linearArrangements[0], linearArrangements[4], linearArrangements[8]}, nestedArrangements...)
		list := points(b, smoke, quick, everyArrangement())
		return sweep(ctx, b, list, func(a method.Arrangement) bench.Comparison { return arrangementComparison(b, a) })
	},
}

// hitsEach is the mean of a packet.
func hitsEach(a method.Arrangement) float64 { return float64(a.Hits()) / float64(a.Flows()) }

func arrangementParameters(a method.Arrangement) map[string]float64 {
	return map[string]float64{
		"levels": float64(len(a.Selectors)), "chains": float64(a.Chains()), "rules": float64(a.Rules), "hits": hitsEach(a),
	}
}

// arrangementComparison sends packets to destinations drawn at random, each of which
// has its rule.
func arrangementComparison(b *bench.Bench, a method.Arrangement) bench.Comparison {
	one := trafficgen.Ports{First: 1024, Last: 1024, Count: 1}
	flows := trafficgen.Flows{
		Sources: trafficgen.Addresses{First: bench.Sources.Addr().Next(), Count: 1}, SourcePorts: one,
		Destinations: trafficgen.Addresses{First: bench.Destinations.Addr(), Count: a.Flows()}, DestinationPorts: one,
	}
	frames := max(500, min(100_000, visits/int(hitsEach(a))))
	if b.Smoke {
		frames = b.Sessions
	}
	setup := bench.Setup{Sessions: flows.Count(), Allow: a}
	sessions := setup
	sessions.Timeout = natTimeout
	_, pool := bench.FlowsFor(flows.Count(), 1)
	return bench.Comparison{
		Setup: setup, Translating: translating(b, sessions, pool), Flows: flows, Parameters: arrangementParameters(a),
		Measure: func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
			if bed.DUT.Translates { // what has a session asks no rule: all are new
				o, err := bed.Sessions.Establish(ctx, trafficgen.Plan{})
				if err != nil {
					return nil, err
				}
				return perSecond(o.Rate()), bed.DUT.Reset(ctx)
			}
			o, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: frames, Random: true}, false)
			return []bench.Measure{{Metric: "rate", Unit: bench.PerSecond, Value: o.Rate()}}, err
		},
	}
}

// modelArrangement adds what the model says of every arrangement of the tables.
func modelArrangement(b *bench.Bench) error {
	for _, a := range everyArrangement() {
		b.Report.Results = append(b.Report.Results, bench.Result{
			DUT: "model", Metric: "hits", Unit: "rules", Parameters: arrangementParameters(a),
			Summary: method.Summarise([]float64{float64(a.Hits())}), Trials: []bench.Trial{}, Gates: map[string]bench.Gate{},
		})
	}
	for _, a := range nestedArrangements {
		b.Note("%d levels: %s", len(a.Selectors), describe(a))
	}
	b.Note("nested as equation 3 of Sharma is printed, every figure is 65,536 less; with one hit a flow for the rule that leads into the tree it is Table 19")
	return nil
}

// describe is a nested arrangement as Table 19 of Sharma writes it.
func describe(a method.Arrangement) string {
	return fmt.Sprintf("%s = %d chains of %d rules", strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Selectors), " ", " × "), "[]"), a.Chains(), a.Rules)
}
