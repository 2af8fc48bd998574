package reproduce

import (
	"bytes"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

func TestPosition(t *testing.T) {
	t.Parallel()
	made := func(hundredth, last, spread float64) Evidence {
		return Evidence{"rule-position": reportOf(
			sweepOf("iptables", "rate", "position", spread, map[float64]float64{1: 500e3, 10: 490e3, 100: hundredth, 1000: 200e3, 65536: last}),
			sweepOf("nftables-set", "rate", "position", spread, map[float64]float64{1: 400e3, 65536: 400e3}))}
	}
	check(t, "Figures 28 to 30", []judged{
		{"slower from the start", made(425e3, 4e3, narrow), Yes},
		{"the hundredth is none", made(600e3, 4e3, narrow), Partly},
		{"level", made(600e3, 450e3, narrow), No},
		{"uncertain", made(425e3, 100e3, wide), Undecided},
	})
}

func TestMarkDNAT(t *testing.T) {
	t.Parallel()
	made := func(list, constant, spread float64) Evidence {
		pools := func(dut string, last float64) []bench.Result {
			return sweepOf(dut, "rate", "pool", spread, map[float64]float64{1: 900e3, 256: 500e3, 65536: last})
		}
		return Evidence{"mark-dnat": reportOf(pools("iptables", list), pools("nftables-set", constant), pools("realmgate", 490e3))}
	}
	check(t, "Figure 31", []judged{
		{"a list falls and a map not", made(5e3, 490e3, narrow), Yes},
		{"both fall", made(5e3, 100e3, narrow), Partly},
		{"the map falls alone", made(400e3, 100e3, narrow), No},
		{"uncertain", made(100e3, 490e3, wide), Undecided},
	})
}

func TestQueues(t *testing.T) {
	t.Parallel()
	made := func(cpus int, eight, spread, noise float64) Evidence {
		rate := func(queues, byCPU, rate float64) []bench.Result {
			return resultOf("nfqueue", "rate", rate, noise, at{"queues": queues, "by_cpu": byCPU, "nat": 0})
		}
		r := reportOf(rate(1, 0, 50e3), rate(4, 0, 60e3), rate(8, 0, eight), rate(4, 1, spread),
			resultOf("realmgate", "rate", 900e3, noise, at{"queues": 1, "by_cpu": 0, "nat": 1}))
		r.Environment.CPUs = cpus
		return Evidence{"nfqueue": r}
	}
	check(t, "Figure 32", []judged{
		{"no help", made(24, 58e3, 57e3, narrow), Yes},
		{"no help, but no CPUs either", made(2, 58e3, 57e3, narrow), Undecided},
		{"eight help", made(2, 90e3, 57e3, narrow), No},
		{"the fan-out helps", made(24, 58e3, 90e3, narrow), No},
		{"uncertain", made(24, 58e3, 57e3, wide), Undecided},
	})
}

// arrangementReport has the rates by levels and chains.
func arrangementReport(rates map[[2]float64]float64, spread float64) Evidence {
	results := [][]bench.Result{}
	for where, rate := range rates {
		results = append(results, resultOf("iptables", "rate", rate, spread, place(where[0], where[1])))
	}
	for _, where := range [][2]float64{{1, 1}, {1, 256}, {2, 256}, {3, 256}, {4, 256}} {
		results = append(results, resultOf("model", "hits", 1e6, 0, place(where[0], where[1])))
	}
	return Evidence{"rule-arrangement": reportOf(results...)}
}

func TestArrangements(t *testing.T) {
	t.Parallel()
	flat := func(one, sixteen, many, spread float64) Evidence {
		return arrangementReport(map[[2]float64]float64{{1, 1}: one, {1, 16}: sixteen, {1, 256}: many}, spread)
	}
	check(t, "Table 18, Figure 33", []judged{
		{"beyond not measured", flat(4e3, 50e3, 400e3, narrow), Partly},
		{"the other way round", flat(400e3, 50e3, 4e3, narrow), No},
		{"uncertain", flat(40e3, 50e3, 60e3, wide), Undecided},
	})
	nested := func(one, two, three, four, spread float64) Evidence {
		return arrangementReport(map[[2]float64]float64{{1, 256}: one, {2, 256}: two, {3, 256}: three, {4, 256}: four}, spread)
	}
	check(t, "Table 19, Figure 35", []judged{
		{"faster, and alike", nested(400e3, 800e3, 820e3, 790e3, narrow), Yes},
		{"faster, the deeper the more", nested(400e3, 800e3, 1200e3, 1600e3, narrow), Partly},
		{"slower, the deeper the more", nested(400e3, 300e3, 200e3, 100e3, narrow), No},
		{"uncertain", nested(400e3, 800e3, 820e3, 790e3, wide), Undecided},
	})
}

func TestNftables(t *testing.T) {
	t.Parallel()
	made := func(fresh, known, spread float64) Evidence {
		r := func(theirs float64) bench.Report {
			return reportOf(resultOf("iptables", "rate", 200, spread, nil), resultOf("iptables", "cost", 5000, spread, nil),
				resultOf("nftables", "rate", 190, 0, nil), resultOf("nftables", "cost", 5000/theirs, 0, nil), resultOf("realmgate", "rate", 900, spread, nil))
		}
		return Evidence{"nat44-establish": r(fresh), "nat44-throughput": r(known)}
	}
	check(t, "Table VII", []judged{
		{"a tenth, and a fifth", made(0.1, 0.2, narrow), Yes}, {"equal", made(1, 0.98, narrow), No},
		{"new ones alone", made(0.1, 1, narrow), Partly}, {"uncertain", made(0.5, 0.5, wide), Undecided},
	})
}

func manyReport(rate float64) Evidence {
	e := Evidence{"nat44-teardown": reportOf(resultOf("iptables", "rate", 200e3, narrow, nil))}
	for dut, bytes := range map[string]float64{"iptables": 269, "nftables": 269, "realmgate": 82} {
		e["nat44-40m-"+dut] = reportOf(once(resultOf(dut, "rate", rate, narrow, nil)), once(resultOf(dut, "memory", bytes, narrow, nil)))
	}
	return e
}

func TestMany(t *testing.T) {
	t.Parallel()
	for _, item := range []string{"40 M connections", "Figure 14"} {
		check(t, item, []judged{{"as fast", manyReport(190e3), Yes}, {"collapsed", manyReport(20e3), No}})
	}
}

func TestTracking(t *testing.T) {
	t.Parallel()
	made := func(fresh, known, spread float64) Evidence {
		return Evidence{"conntrack": reportOf(resultOf("route", "rate", 100, spread, nil), resultOf("route", "rate_reuse", 100, spread, nil),
			resultOf("conntrack", "rate", 100*fresh, 0, nil), resultOf("conntrack", "rate_reuse", 100*known, 0, nil))}
	}
	check(t, "Figures 7, 8", []judged{
		{"halved", made(0.45, 0.5, narrow), Yes}, {"as before", made(0.95, 0.97, narrow), No},
		{"new ones alone", made(0.45, 0.97, narrow), Partly}, {"uncertain", made(0.6, 0.6, wide), Undecided},
	})
}

func TestRules(t *testing.T) {
	t.Parallel()
	count := func(list, set, spread float64) Evidence {
		return Evidence{"rule-count": reportOf(sweepOf("iptables", "rate", "rules", spread, map[float64]float64{1: 500e3, 65536: list}),
			sweepOf("ipset", "rate", "rules", spread, map[float64]float64{1: 450e3, 65536: set}))}
	}
	check(t, "Figures 15, 16", []judged{
		{"the list falls", count(4e3, 440e3, narrow), Yes}, {"both fall", count(4e3, 40e3, narrow), Partly},
		{"the set alone", count(490e3, 40e3, narrow), No}, {"uncertain", count(100e3, 440e3, wide), Undecided},
	})
	load := func(list, set, spread float64) Evidence {
		results := [][]bench.Result{}
		for dut, seconds := range map[string]float64{"iptables": list, "ipset": set} {
			for _, metric := range []string{"seconds", "seconds_add"} {
				results = append(results, sweepOf(dut, metric, "rules", spread, map[float64]float64{16: 0.001, 65536: seconds}))
			}
		}
		return Evidence{"rule-load-time": reportOf(results...)}
	}
	check(t, "the last figure", []judged{
		{"far longer", load(0.2, 0.002, narrow), Yes}, {"alike", load(0.002, 0.002, narrow), No}, {"uncertain", load(0.012, 0.002, wide), Undecided},
	})
}

func TestTCP(t *testing.T) {
	t.Parallel()
	made := func(translated, spread float64) Evidence {
		rate := func(dut string, layer, rate float64) []bench.Result {
			return resultOf(dut, "rate", rate, spread, at{"layer": layer})
		}
		return Evidence{"tcp-sessions": reportOf(rate("route", 1, 200e3), rate("conntrack", 2, 100e3), rate("iptables", 3, 90e3),
			rate("iptables", 4, translated), rate("realmgate", 4, 150e3))}
	}
	check(t, "Figures 11 to 13", []judged{{"slower", made(70e3, narrow), Yes}, {"faster", made(95e3, narrow), No}, {"uncertain", made(70e3, wide), Undecided}})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	made := func(rate, passed, spread float64) Evidence {
		one := at{"queues": 1, "by_cpu": 0, "nat": 0}
		return Evidence{protecting.Name: protectionReport(), "nfqueue": reportOf(resultOf("nfqueue", "rate", rate, spread, one), resultOf("iptables", "rate", 400e3, spread, one),
			resultOf("realmgate", "cost", 900, spread, one), sweepOf("nfqueue", "passed", "offered", spread, map[float64]float64{30e3: 30e3, 100e3: passed}),
			sweepOf("nfqueue", "queue_drops", "offered", spread, map[float64]float64{30e3: 0, 100e3: 10}),
			sweepOf("realmgate", "passed", "offered", spread, map[float64]float64{30e3: 30e3, 100e3: 100e3}))}
	}
	check(t, "Table 1", []judged{{"tens of thousands", made(60e3, 60e3, narrow), Yes}, {"hundreds, by a program that looks nothing up", made(300e3, 60e3, narrow), Undecided}, {"uncertain", made(90e3, 60e3, wide), Undecided}})
	check(t, "the sweep", []judged{{"no more", made(60e3, 60e3, narrow), Yes}, {"all", made(60e3, 100e3, narrow), No}, {"uncertain", made(60e3, 90e3, wide), Undecided}})
}

// Realmgate stands in the rows about rules, by rules and by sets.
func TestRealmgateInTheRowsAboutRules(t *testing.T) {
	t.Parallel()
	e := Evidence{}
	for item, job := range map[string]string{"Figures 15, 16": "rule-count", "the last figure": "rule-load-time", "Figures 28 to 30": "rule-position", "Table 18, Figure 33": "rule-arrangement", "Figures 9, 10": "filter"} {
		var results []bench.Result
		for _, dut := range []string{"iptables", "ipset", "nftables-set", "conntrack", "realmgate", "realmgate-set"} {
			for _, metric := range []string{"rate", "rate_reuse", "seconds", "seconds_add"} {
				for _, x := range []float64{1, 100, 1000, 65536} {
					results = append(results, resultOf(dut, metric, 600e3, narrow, at{"rules": x, "position": x})...)
				}
				for _, chains := range []float64{1, 16, 256} {
					results = append(results, resultOf(dut, metric, 600e3, narrow, place(1, chains))...)
				}
			}
		}
		for _, chains := range []float64{1, 256} {
			results = append(results, resultOf("model", "hits", 1e6, 0, place(1, chains))...)
		}
		e[job] = reportOf(results)
		if v := finding(t, item).Judged(e); !strings.Contains(v.Realmgate, "600k") && !strings.Contains(v.Realmgate, "realmgate-set: one more") {
			t.Errorf("%s: %+v", item, v)
		}
	}
}

func TestOfferedConnections(t *testing.T) {
	t.Parallel()
	made := func(routed, translated float64) Evidence {
		var results []bench.Result
		for _, l := range []struct {
			dut         string
			layer, most float64
		}{{"route", 1, routed}, {"conntrack", 2, 30e3}, {"iptables", 3, 30e3}, {"iptables", 4, translated}, {"nftables", 4, translated}, {"realmgate", 4, 50e3}} {
			for _, x := range []float64{5e3, 20e3, 50e3} {
				results = append(results, resultOf(l.dut, "replies", min(x, l.most), narrow, at{"layer": l.layer, "offered": x})...)
			}
		}
		return Evidence{"tcp-offered": reportOf(results)}
	}
	check(t, "Figures 3 to 13, as curves", []judged{
		{"NAT breaks earlier", made(50e3, 20e3), Yes}, {"both at the same rate", made(20e3, 20e3), No},
		{"none breaks", made(50e3, 50e3), Undecided}, {"no reply to any", made(50e3, 0), Unknown},
	})
}

// Rounds of points that took no turns were minutes apart: they say nothing about each other.
func TestPointsWithoutTurnsAreNotCompared(t *testing.T) {
	t.Parallel()
	made := func(first, last int) Evidence {
		r := reportOf(sweepOf("iptables", "rate", "rules", narrow, map[float64]float64{1: 500e3, 65536: 4e3}),
			sweepOf("ipset", "rate", "rules", narrow, map[float64]float64{1: 450e3, 65536: 440e3}))
		for i := range r.Results {
			r.Results[i].Sweep = map[bool]int{true: first, false: last}[r.Results[i].Parameters["rules"] == 1]
		}
		return Evidence{"rule-count": r}
	}
	check(t, "Figures 15, 16", []judged{{"one sweep", made(2, 2), Yes}, {"two", made(1, 2), Undecided}, {"none that is known", made(0, 0), Undecided}})
	for _, c := range []struct {
		e    Evidence
		want bool
	}{{made(1, 1), true}, {made(0, 0), false}, {Evidence{}, true}} {
		var page bytes.Buffer
		if err := Page(&page, Papers(), c.e); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), "Points of a sweep take turns within each round"); got != c.want {
			t.Errorf("the page says that points took turns: %t, want %t", got, c.want)
		}
	}
	if v := finding(t, "Figures 15, 16").Judged(made(0, 0)); !strings.Contains(v.Why, "took no turns") {
		t.Errorf("%+v", v)
	}
}

// Two rounds cover the median in one of two cases: they decide nothing that is close.
func TestFewRoundsDecideNothingClose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds []float64
		want   Holds
	}{
		{[]float64{1.01, 1.02}, Undecided}, {[]float64{0.99, 0.98}, Undecided}, {[]float64{1.06, 1.07}, Yes}, {[]float64{0.94, 0.95}, No},
		{[]float64{1.01, 1.02, 1.01, 1.02, 1.01}, Undecided}, {[]float64{1.01, 1.02, 1.01, 1.02, 1.01, 1.02}, Yes}, {[]float64{1.4}, Undecided}, {[]float64{1.6}, Yes},
	} {
		r := series("iptables", "rate", nil, c.rounds...)
		f := figure{median: float64(r.Median), least: float64(r.P1), most: float64(r.P99), trials: len(c.rounds)}
		if got := f.above(1); got != c.want {
			t.Errorf("%v is above 1: %s, want %s", c.rounds, got, c.want)
		}
	}
	two := figure{median: 1.22, least: 1.22, most: 1.23, trials: 2}
	if got := two.within(1.25); got != Undecided {
		t.Errorf("1.22 and 1.23 are within 1.25: %s", got)
	}
}

// Rates have the tester's time in them: where a cost is unresolved, equal rates do not
// make two devices the same.
func TestUnresolvedCostDecidesNothing(t *testing.T) {
	t.Parallel()
	cost := func(dut, metric, why string, parameters at) []bench.Result {
		r := resultOf(dut, metric, 20, narrow, parameters)
		r[0].Unresolved = why
		return r
	}
	filter := func(why string) Evidence {
		var results [][]bench.Result
		for _, dut := range []string{"conntrack", "iptables"} {
			results = append(results, resultOf(dut, "rate", 4e6, narrow, nil), resultOf(dut, "rate_reuse", 4e6, narrow, nil),
				cost(dut, "cost", why, nil), cost(dut, "cost_reuse", "", nil))
		}
		return Evidence{"filter": reportOf(results...)}
	}
	const why = "it is 20.0 ns, and the control's own time changes by 30.0 ns"
	check(t, "Figures 9, 10", []judged{{"resolved", filter(""), Yes}, {"unresolved", filter(why), Undecided}})
	if v := finding(t, "Figures 9, 10").Judged(filter(why)); !strings.Contains(v.Why, why) {
		t.Errorf("the row does not say why: %+v", v)
	}
	// A cost is not divided by a rate: here known connections have no cost.
	points := map[float64]float64{0.6: 400e3, 1: 390e3, 4: 300e3, 16: 100e3, 19: 50e3}
	made := func(known string) Evidence {
		r := reportOf(sweepOf("iptables", "rate", "load", narrow, points), sweepOf("iptables", "rate_reuse", "load", narrow, points),
			sweepOf("realmgate", "rate", "load", narrow, points), sweepOf("realmgate", "rate_reuse", "load", narrow, points))
		for x, rate := range points {
			r.Results = append(r.Results, resultOf("iptables", "cost", 1e10/rate/rate*400e3, narrow, at{"load": x})...)
			r.Results = append(r.Results, resultOf("iptables", known, 1e9/rate, narrow, at{"load": x})...)
		}
		return Evidence{"hash-load": r}
	}
	check(t, "Table II", []judged{{"both by cost", made("cost_reuse"), Yes}, {"one by rate", made("another"), Undecided}})
}
