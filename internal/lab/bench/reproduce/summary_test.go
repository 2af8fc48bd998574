package reproduce

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// summaryEvidence has nftables as the better one in everything but tear-down.
func summaryEvidence() Evidence {
	e := manyReport(200e3)
	for _, job := range []Job{establish, throughput, forward, reverse, hostsEstablish, hostsThroughput} {
		results := [][]bench.Result{resultOf("null", "rate", 4e6, narrow, nil)}
		for dut, cost := range map[string]float64{"realmgate": 200, "iptables": 900, "nftables": 800} {
			results = append(results, resultOf(dut, "cost", cost, narrow, nil), resultOf(dut, "rate", 1e9/(cost+250), narrow, nil))
		}
		e[job.Name] = reportOf(results...)
	}
	e[teardown.Name] = reportOf(resultOf("realmgate", "teardown", 4e6, narrow, nil), resultOf("iptables", "teardown", 400e3, narrow, nil),
		resultOf("nftables", "teardown", 300e3, narrow, nil))
	e[memory.Name] = reportOf(resultOf("realmgate", "memory", 90, 0, nil), resultOf("iptables", "memory", 264, 0, nil))
	e[markDNAT.Name] = reportOf(sweepOf("realmgate", "cost", "pool", narrow, map[float64]float64{256: 1000, 65535: 1040}),
		sweepOf("realmgate", "cost_reuse", "pool", narrow, map[float64]float64{256: 300, 65535: 303}))
	e[deciding.Name] = reportOf(resultOf("realmgate", "verdict", 100, narrow, nil), resultOf("nfqueue", "verdict", 4000, narrow, nil),
		resultOf("realmgate", "verdict_alone", 100, narrow, nil), resultOf("nfqueue", "verdict_alone", 6000, narrow, nil))
	e[protecting.Name] = protectionReport()
	e[hops.Name] = reportOf(sweepOf("realmgate", "hop_inlined", "functions", narrow, map[float64]float64{1: 3, 8: 1.5}),
		sweepOf("realmgate", "hop_own", "functions", narrow, map[float64]float64{1: 3, 8: 6}))
	return e
}

// protectionReport is of 150 ns under load, and 250 alone.
func protectionReport() bench.Report {
	var offered [][]bench.Result
	for rate, passed := range map[float64]float64{30e3: 30e3, 100e3: 99e3} {
		offered = append(offered, resultOf("realmgate", "passed", passed, narrow, at{"offered": rate}), resultOf("realmgate", "loss", 0, 0, at{"offered": rate}))
	}
	return reportOf(append(offered, resultOf("realmgate", "verdict", 150, narrow, nil), resultOf("nfqueue", "verdict", 4000, narrow, nil),
		resultOf("realmgate", "cost", 1000, narrow, nil), resultOf("nfqueue", "cost", 6000, narrow, nil),
		resultOf("realmgate", "verdict_alone", 250, narrow, nil), resultOf("nfqueue", "verdict_alone", 6000, narrow, nil))...)
}

func TestSummary(t *testing.T) {
	t.Parallel()
	rows := map[string]Row{}
	for _, row := range Summary(summaryEvidence()) {
		rows[row.What] = row
	}
	for what, want := range map[string]string{
		"Established packet from inside, cost":      "Realmgate 200 ns (198–202), nftables 800 ns (792–808): 4.0 (4.0–4.0) times cheaper",
		"Established packet from outside, cost":     "nftables 800 ns",
		"New session, cost":                         "4.0 (4.0–4.0) times cheaper",
		"Whole path, established packets both ways": "Realmgate 2.22M/s (2.2M–2.24M), nftables 952k/s (943k–962k): 2.3 (2.3–2.3) times",
		"The tester alone (null), both ways":        "4M/s (3.96M–4.04M)",
		"Memory of a session":                       "Realmgate 90 bytes (90–90), iptables 264 bytes (264–264)",
		"Tear-down":                                 "Realmgate 4M/s (3.96M–4.04M), iptables 400k/s (396k–404k): 10.0 (10.0–10.0) times",
		"Memory of 40 million sessions":             "Realmgate 3.3 GB, iptables 10.8 GB, nftables 10.8 GB",
		"A verdict about a new session, by a filter and 20,000 bans (200,000 sessions)": "nfqueue 4000 ns (3960–4040): 40.0 (40.0–40.0) times cheaper; one session at a time " +
			"Realmgate 100 ns (99–101), nfqueue 6000 ns (5940–6060): 60.0 (60.0–60.0) times cheaper",
		"A connection of one packet, by geofence, a blocklist of 100,000 and honeypot": "Realmgate 150 ns (148–152), nfqueue 4000 ns (3960–4040); one at a time " +
			"Realmgate 250 ns (248–252), nfqueue 6000 ns (5940–6060); at 100k/s offered 0.000 % lost",
		"A function of a chain of 8 that does nothing, inlined":                            "1.50 ns (1.48–1.52)",
		"An established packet with 65,535 names in the pool beside 256 (50,000 sessions)": "303 ns (300–306) with 65,535, 300 ns (297–303) with 256; a new session 1040 ns",
	} {
		if !strings.Contains(rows[what].Measured, want) {
			t.Errorf("%s: %q, want %q in it", what, rows[what].Measured, want)
		}
	}
	for what, met := range map[string]Holds{
		"New session, cost": No, "Tear-down": Undecided, "Memory of a session": Yes, "Memory of 40 million sessions": Yes,
		"A verdict about a new session, by a filter and 20,000 bans (200,000 sessions)": Partly, "A function of a chain of 8 that does nothing, inlined": Yes,
		"A connection of one packet, by geofence, a blocklist of 100,000 and honeypot": Partly,
		"The same where each is a program, as a user's own are":                        No,
		"The tester alone (null), both ways":                                           Yes, "Whole path, established packets both ways": No,
		"An established packet with 65,535 names in the pool beside 256 (50,000 sessions)": Yes,
	} {
		if rows[what].Met != met {
			t.Errorf("%s: met %q, want %q", what, rows[what].Met, met)
		}
	}
}

// Each line stands by itself: without its report it says so, and the others remain.
func TestSummaryWithoutAReport(t *testing.T) {
	t.Parallel()
	for _, job := range summaryJobs {
		e := maps.Clone(summaryEvidence())
		delete(e, job.Name)
		missing := 0
		for _, row := range Summary(e) {
			if strings.HasPrefix(row.Measured, "not measured: the report of "+job.Name) {
				missing++
			}
		}
		if missing == 0 || missing > 3 {
			t.Errorf("without %s %d rows are missing", job.Name, missing)
		}
	}
}

// There is a plot once two of the jobs have costs.
func TestPlotNeedsTwoJobs(t *testing.T) {
	t.Parallel()
	whole := summaryEvidence()
	e := Evidence{establish.Name: whole[establish.Name]}
	if plottable(e) {
		t.Error("one job is to be drawn beside nothing")
	}
	e[forward.Name] = whole[forward.Name]
	var svg bytes.Buffer
	if err := Plot(&svg, e); !plottable(e) || err != nil || !strings.Contains(svg.String(), "from inside") {
		t.Errorf("two jobs: %v, %d octets", err, svg.Len())
	}
}

func TestPageBeginsWithTheSummary(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	if err := Page(&page, Papers(), summaryEvidence()); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	summary, first := strings.Index(text, "| Tear-down | 10 times as fast | Realmgate 4M/s"), strings.Index(text, "## Sharma")
	if summary < 0 || summary > first {
		t.Errorf("the summary is at %d, the first paper at %d:\n%s", summary, first, text)
	}
}
