package reproduce

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

const gigabyte = 1 << 30

func limitsReport(connections, buckets float64, memory uint64) Evidence {
	r := reportOf(resultOf("conntrack", "most_connections", connections, 0, nil), resultOf("conntrack", "most_buckets", buckets, 0, nil))
	r.Environment.MemoryBytes = memory
	return Evidence{"conntrack-limits": r}
}

func TestLimitsAreJudgedByMemory(t *testing.T) {
	t.Parallel()
	fewAndMany := limitsReport(1<<31, 1<<28, 24*gigabyte)
	halfOfMemory := limitsReport(1<<31, 1<<31, 24*gigabyte)
	check(t, "Table 12", []judged{
		{"little of memory and more than fits", fewAndMany, Yes},
		{"as many buckets as fit", halfOfMemory, No},
		{"as many connections as fit", limitsReport(60e6, 1<<28, 24*gigabyte), No},
		{"memory not known", limitsReport(1<<31, 1<<28, 0), Unknown},
	})
	check(t, "Table VI", []judged{
		{"one size of memory", fewAndMany, Undecided}, {"as many buckets as fit", halfOfMemory, Undecided},
	})
}

func TestMemoryIsJudgedByTwoSizes(t *testing.T) {
	t.Parallel()
	made := func(many float64) Evidence {
		return Evidence{"session-memory": reportOf(once(sweepOf("iptables", "memory_growth", "sessions", narrow, map[float64]float64{1e5: 256, 1e6: many})),
			sweepOf("realmgate", "memory", "sessions", narrow, map[float64]float64{1e5: 900, 1e6: 90}))}
	}
	check(t, "Table 13", []judged{{"the same", made(258), Yes}, {"more with more", made(384), No}})
}

func TestMemoryByBuckets(t *testing.T) {
	t.Parallel()
	made := func(fewest, spread float64) Evidence {
		return Evidence{"hash-load": reportOf(sweepOf("iptables", "memory_growth", "load", spread, map[float64]float64{0.6: 256, 19: fewest}))}
	}
	check(t, "Table 14", []judged{
		{"the same", made(258, narrow), Yes}, {"more in fuller buckets", made(384, narrow), No}, {"uncertain", made(256, wide), Undecided},
	})
	withBucket := func(e Evidence, bytes float64) Evidence {
		e["conntrack-limits"] = reportOf(resultOf("conntrack", "bucket", bytes, 0, nil))
		return e
	}
	unknown := made(258, narrow)
	unknown["conntrack-limits"] = reportOf(resultOf("conntrack", "most_buckets", 1<<28, 0, nil))
	check(t, "Tables IV, V", []judged{
		{"the same", withBucket(made(258, narrow), 8.02), Yes}, {"larger buckets", withBucket(made(258, narrow), 16), Partly},
		{"buckets not measured", unknown, Undecided},
	})
}

func TestFlowsAreComparedByCost(t *testing.T) {
	t.Parallel()
	made := func(most, spread float64) Evidence {
		e := reportOf()
		for _, metric := range []string{"rate", "rate_reuse"} {
			// The tester is slower with more flows, and so is the rate.
			e.Results = append(e.Results, sweepOf("route", metric, "flows", spread, map[float64]float64{1e5: 1e6, 1e6: 1e6, 4e6: 0.6e6})...)
			e.Results = append(e.Results, sweepOf("route", "cost"+metric[len("rate"):], "flows", spread, map[float64]float64{1e5: 500, 1e6: 500, 4e6: most})...)
		}
		return Evidence{"flow-count": e}
	}
	check(t, "Table 15", []judged{{"the same", made(520, narrow), Yes}, {"dearer", made(900, narrow), No}, {"uncertain", made(625, 0.1), Undecided}})
}

// hashReport has loads near those of the sources.
func hashReport(fresh, known map[float64]float64, spread float64) Evidence {
	results := [][]bench.Result{}
	for _, dut := range []string{"iptables", "realmgate"} {
		results = append(results, sweepOf(dut, "rate", "load", spread, fresh), sweepOf(dut, "rate_reuse", "load", spread, known))
	}
	return Evidence{"hash-load": reportOf(results...)}
}

func TestHashLoad(t *testing.T) {
	t.Parallel()
	steeper := map[float64]float64{0.599: 230, 1: 220, 3.99: 200, 16: 110, 19.1: 90}
	gentle := map[float64]float64{0.599: 400, 1: 395, 3.99: 380, 16: 330, 19.1: 310}
	slower := map[float64]float64{0.599: 400, 1: 250, 3.99: 150, 16: 110, 19.1: 108}
	level := map[float64]float64{0.599: 230, 1: 230, 3.99: 230, 16: 230, 19.1: 230}
	rising := map[float64]float64{0.599: 100, 1: 110, 3.99: 190, 16: 220, 19.1: 230}
	halving := map[float64]float64{0.599: 300, 1: 150, 3.99: 60, 16: 55, 19.1: 54}
	for item, cases := range map[string][]judged{
		"Table 16, Figure 25": {
			{"both fall", hashReport(steeper, gentle, narrow), Yes}, {"both rise, known less", hashReport(rising, rising, narrow), No},
			{"known fall more", hashReport(gentle, steeper, narrow), Partly}, {"uncertain", hashReport(steeper, gentle, wide), Undecided},
			{"neither falls", hashReport(level, level, narrow), Undecided},
		},
		"Table I": {
			{"falls faster and faster", hashReport(steeper, gentle, narrow), Yes}, {"rises, ever less", hashReport(rising, gentle, narrow), Partly},
			{"falls, ever less", hashReport(halving, gentle, narrow), Partly}, {"uncertain", hashReport(steeper, gentle, wide), Undecided},
			{"rises, ever more", hashReport(map[float64]float64{0.599: 100, 1: 101, 3.99: 110, 16: 250, 19.1: 300}, gentle, narrow), No},
		},
		"Table II": {
			{"falls less", hashReport(steeper, gentle, narrow), Yes}, {"falls more", hashReport(gentle, slower, narrow), Partly},
			{"uncertain", hashReport(steeper, gentle, wide), Undecided},
			{"rises, and new ones more", hashReport(rising, map[float64]float64{0.599: 100, 1: 101, 3.99: 110, 16: 120, 19.1: 120}, narrow), No},
		},
	} {
		check(t, item, cases)
	}
}

// series sets the values of each round.
func series(dut, metric string, parameters at, values ...float64) bench.Result {
	r := bench.Result{DUT: dut, Metric: metric, Parameters: parameters, Sweep: 1, Summary: method.Summarise(values)}
	for i, v := range values {
		r.Trials = append(r.Trials, bench.Trial{Round: i + 1, Value: method.Number(v)})
	}
	return r
}

// A control that moved between two points says nothing of them: they are compared by
// cost, in the same rounds. These are rates and costs of Table 19, flat and of 4 levels.
func TestPointsAreComparedByCost(t *testing.T) {
	t.Parallel()
	flat, nested := place(1, 256), place(4, 256)
	r := bench.Report{Control: "null", Results: []bench.Result{
		series("null", "rate", flat, 2.95e6, 2.95e6, 2.95e6), series("null", "rate", nested, 4.04e6, 4.04e6, 4.04e6),
		series("iptables", "rate", flat, 425e3, 418e3, 428e3), series("iptables", "rate", nested, 499e3, 484e3, 510e3),
		series("iptables", "cost", flat, 2014, 2051, 1978), series("iptables", "cost", nested, 1759, 1815, 1714),
	}}
	e := Evidence{"rule-arrangement": r}
	if q := e.arranged(nested, flat); q.least <= 1.1 || q.most >= 1.2 {
		t.Errorf("nested is %s times as fast", q)
	}
	// Rounds that both have, and no others; without costs, by rates.
	r.Results = r.Results[:4]
	r.Results[3].Trials[1].Invalid = "steal: 31 %"
	e = Evidence{"rule-arrangement": r}
	if q := e.arranged(nested, flat); q.trials != 2 || q.least <= 1.17 || q.most >= 1.2 {
		t.Errorf("by rates nested is %s times as fast", q)
	}
}

func TestPinning(t *testing.T) {
	t.Parallel()
	made := func(pinned, spread float64) Evidence {
		results := [][]bench.Result{}
		for _, dut := range []string{"conntrack", "realmgate"} {
			results = append(results, resultOf(dut, "rate_reuse", 100, spread, at{"pinned": 0, "load": 8}), resultOf(dut, "rate_reuse", pinned, spread, at{"pinned": 1, "load": 8}))
		}
		return Evidence{"cpu-pinning": reportOf(results...)}
	}
	check(t, "Table 17, Figure 26", []judged{
		{"faster", made(126, narrow), Yes}, {"slower", made(90, narrow), No}, {"within the margin", made(103, narrow), Undecided}, {"uncertain", made(126, wide), Undecided},
	})
}

func TestTargets(t *testing.T) {
	t.Parallel()
	made := func(change map[string]float64, spread float64) Evidence {
		rates := map[string]float64{"accept": 500, "notrack": 900, "mark": 480, "dnat": 400, "snat": 300, "snat_dnat": 250}
		known := map[string]float64{}
		for target := range rates {
			known[target+"_reuse"] = 1000
		}
		maps.Copy(rates, known)
		maps.Copy(rates, change)
		results := [][]bench.Result{resultOf("realmgate", "rate_snat", 900, spread, nil), resultOf("realmgate", "rate_snat_reuse", 1000, spread, nil)}
		for target, rate := range rates {
			results = append(results, resultOf("iptables", "rate_"+target, rate, spread, nil))
		}
		return Evidence{"targets": reportOf(results...)}
	}
	check(t, "Figure 27", []judged{
		{"as in the figure", made(nil, narrow), Yes},
		{"DNAT is slower than SNAT", made(map[string]float64{"dnat": 280}, narrow), Partly},
		{"DNAT and SNAT are alike", made(map[string]float64{"dnat": 301}, 0.06), Undecided},
		{"uncertain", made(nil, wide), Undecided},
		{"nothing of it", made(map[string]float64{"dnat": 280, "notrack": 100, "accept_reuse": 100}, narrow), No},
		{"no SNAT", made(map[string]float64{"snat": math.NaN()}, narrow), Unknown},
	})
}

// New and known connections are compared by what the device itself takes for them:
// the tester may be slower with one of them.
func TestKnownConnectionsAreComparedByCost(t *testing.T) {
	t.Parallel()
	e := Evidence{"targets": reportOf(resultOf("iptables", "rate_snat", 500, narrow, nil), resultOf("iptables", "rate_snat_reuse", 400, narrow, nil),
		resultOf("iptables", "cost_snat", 1000, narrow, nil), resultOf("iptables", "cost_snat_reuse", 500, narrow, nil))}
	if q := e.reused("targets", "iptables", "rate_snat"); q.above(1.9) != Yes || q.below(2.1) != Yes {
		t.Errorf("known are %s times as fast", q)
	}
}

func TestTeardown(t *testing.T) {
	t.Parallel()
	made := func(fewest, spread float64) Evidence {
		ours := resultOf("realmgate", "teardown", 3e6, narrow, nil)
		return Evidence{
			"hash-load":           reportOf(sweepOf("iptables", "teardown", "load", spread, map[float64]float64{0.6: 300e3, 19: fewest})),
			"nat44-teardown":      reportOf(resultOf("iptables", "teardown", 300e3, narrow, nil), ours),
			"nat44-40m-iptables":  reportOf(once(resultOf("iptables", "teardown", 270e3, narrow, nil))),
			"nat44-40m-realmgate": reportOf(once(resultOf("realmgate", "teardown", 3e6, narrow, nil))),
		}
	}
	check(t, "Table III", []judged{
		{"the same", made(310e3, narrow), Yes}, {"ten times slower", made(30e3, narrow), No}, {"uncertain", made(310e3, wide), Undecided},
	})
	if v := finding(t, "Table III").Judged(made(310e3, narrow)); !strings.Contains(v.Why, "n = 1") || !strings.Contains(v.Netfilter, "one trial") {
		t.Errorf("a single trial is not told: %+v", v)
	}
}
