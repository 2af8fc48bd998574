package reproduce

import (
	"fmt"
	"strings"
)

// summaryJobs is what the summary compares.
var summaryJobs = []Job{establish, throughput, forward, reverse, hostsEstablish, hostsThroughput, teardown, memory, manyIptables, manyNftables, manyRealmgate, markDNAT}

// Row is a line of the summary.
type Row struct {
	What     string
	Aim      string // empty where there is none
	Measured string
}

// Summary is Realmgate beside the better of iptables and nftables, with a million
// sessions unless it says otherwise.
func Summary(e Evidence) (rows []Row) {
	for _, line := range []struct {
		what, aim string
		measured  func(Evidence) string
	}{
		{"Established packet, from inside, cost", "6 times cheaper", costs(forward.Name)},
		{"Established packet, from outside, cost", "6 times cheaper", costs(reverse.Name)},
		{"Established packets, both ways, cost of one", "6 times cheaper", costs(throughput.Name)},
		{"Established packets of 16 hosts, both ways, cost of one", "", costs(hostsThroughput.Name)},
		{"New session, cost", "6 times cheaper", costs(establish.Name)},
		{"New session of 16 hosts, cost", "", costs(hostsEstablish.Name)},
		{"Whole path, established packets both ways", "3 times as fast", func(e Evidence) string { return e.beside(throughput.Name, "rate", "/s") }},
		{"Tester without a device (null), both ways", "3M/s", func(e Evidence) string {
			return e.figure(throughput.Name, e[throughput.Name].Control, "rate", nil).in("/s", si)
		}},
		{"Memory for a session", "at most 96 bytes", memories},
		{"Tear-down", "10 times as fast", func(e Evidence) string { return e.beside(teardown.Name, "teardown", "/s") }},
		{"Memory of 40 million sessions", "at most 4 GB", manyMemories},
		{"65,536 names against few, new sessions", "within 10 %", names},
	} {
		rows = append(rows, Row{line.what, line.aim, told(e, line.measured)})
	}
	return rows
}

// told is what was measured, or why it was not.
func told(e Evidence, measured func(Evidence) string) (text string) {
	defer func() {
		if lacking, ok := recover().(absent); ok {
			text = "not measured: " + string(lacking)
		}
	}()
	return measured(e)
}

// better is of iptables and nftables the one with the higher rate in a job.
func (e Evidence) better(job, metric string) string {
	if e.median(job, "nftables", metric, nil) > e.median(job, "iptables", metric, nil) {
		return "nftables"
	}
	return "iptables"
}

func costs(job string) func(Evidence) string {
	return func(e Evidence) string {
		peer := e.better(job, "rate")
		cost := func(dut string) string { return e.figure(job, dut, "cost", nil).in(" ns", whole) }
		text := fmt.Sprintf("Realmgate %s, %s %s", cost("realmgate"), peer, cost(peer))
		if q, ok := e.cheaper(job, "realmgate", peer, "rate", nil); ok {
			text += fmt.Sprintf(": %s times cheaper", q)
		}
		return text
	}
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

// beside is Realmgate's rate and the better one's.
func (e Evidence) beside(job, metric, unit string) string {
	peer := e.better(job, metric)
	rate := func(dut string) string { return e.figure(job, dut, metric, nil).in(unit, si) }
	return fmt.Sprintf("Realmgate %s, %s %s: %s times", rate("realmgate"), peer, rate(peer), e.ratio(job, "realmgate", peer, metric, nil))
}

func memories(e Evidence) string {
	bytes := func(dut string) string { return e.figure(memory.Name, dut, "memory", nil).in(" bytes", whole) }
	return fmt.Sprintf("Realmgate %s, iptables %s, buckets and fixed parts with them", bytes("realmgate"), bytes("iptables"))
}

func manyMemories(e Evidence) string {
	var texts []string
	for _, job := range []Job{manyRealmgate, manyIptables, manyNftables} {
		each := e.figure(job.Name, job.Devices[0], "memory", nil)
		texts = append(texts, job.Devices[0]+" "+each.in(" GB", func(v float64) string { return fmt.Sprintf("%.1f", v*float64(job.Sessions)/1e9) }))
	}
	return strings.Replace(strings.Join(texts, ", "), "realmgate", "Realmgate", 1)
}

func names(e Evidence) string {
	points, rates := pools(e.sweep(markDNAT.Name, "realmgate", "rate", "pool")), pools(e.rates(markDNAT.Name, "realmgate", "rate", "pool"))
	last := len(points) - 1
	return fmt.Sprintf("%s/s with %.0f, %s/s with %.0f: %s of the rate, by the control of each", rates[0], rates[0].x, rates[last], rates[last].x,
		points[last].by(points[0]))
}

// summaryTable writes the summary in Markdown.
func summaryTable(e Evidence) string {
	var text strings.Builder
	text.WriteString("| A million sessions | Aim | Measured |\n| --- | --- | --- |\n")
	for _, row := range Summary(e) {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", row.What, cell(row.Aim), cell(row.Measured))
	}
	return text.String()
}
