package reproduce

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/bench"
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
	e[markDNAT.Name] = reportOf(sweepOf("realmgate", "rate", "pool", narrow, map[float64]float64{256: 500e3, 65536: 450e3}),
		sweepOf("null", "rate", "pool", 0, map[float64]float64{256: 4e6, 65536: 3.6e6}))
	return e
}

func TestSummary(t *testing.T) {
	t.Parallel()
	rows := map[string]Row{}
	for _, row := range Summary(summaryEvidence()) {
		rows[row.What] = row
	}
	for what, want := range map[string]string{
		"Established packet, from inside, cost":     "Realmgate 200 ns (198–202), nftables 800 ns (792–808): 4 (4–4) times cheaper",
		"Established packet, from outside, cost":    "nftables 800 ns",
		"New session, cost":                         "4 (4–4) times cheaper",
		"Whole path, established packets both ways": "Realmgate 2.22M/s (2.2M–2.24M), nftables 952k/s (943k–962k): 2.33 (2.33–2.33) times",
		"Tester without a device (null), both ways": "4M/s (3.96M–4.04M)",
		"Memory for a session":                      "Realmgate 90 bytes (90–90), iptables 264 bytes (264–264)",
		"Tear-down":                                 "Realmgate 4M/s (3.96M–4.04M), iptables 400k/s (396k–404k): 10 (10–10) times",
		"Memory of 40 million sessions":             "Realmgate 3.3 GB (one trial), iptables 10.8 GB (one trial), nftables 10.8 GB (one trial)",
		"65,536 names against few, new sessions":    "1 (0.98–1.02) of the rate",
	} {
		if !strings.Contains(rows[what].Measured, want) {
			t.Errorf("%s: %q, want %q in it", what, rows[what].Measured, want)
		}
	}
	if aim := rows["Tear-down"].Aim; aim != "10 times as fast" {
		t.Errorf("the aim of tear-down is %q", aim)
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
