package reproduce

import (
	"fmt"
	"strings"
)

// summaryJobs is what the summary compares.
var summaryJobs = []Job{
	establish, throughput, forward, reverse, hostsEstablish, hostsThroughput, teardown, memory, manyIptables, manyNftables, manyRealmgate, markDNAT, deciding, hops, protecting,
}

// Row is a line of the summary.
type Row struct {
	What     string
	Aim      string
	Measured string
	Met      Holds // the aim
}

// shown is what a line of the summary says, and whether its aim is met.
type shown struct {
	text string
	met  Holds
}

// Aims of Realmgate, each against the better of iptables and nftables where it says
// "times".
const (
	timesCheaper  = 6
	timesFaster   = 3
	timesTornDown = 10
	leastNull     = 3e6
	mostBytes     = 96
	mostManyBytes = 4e9
	sameCost      = 1.1
)

// Summary is Realmgate beside the better of iptables and nftables, with a million
// sessions of one host unless it says otherwise.
func Summary(e Evidence) (rows []Row) {
	cheaper := fmt.Sprintf("%d times cheaper", timesCheaper)
	for _, line := range []struct {
		what, aim string
		show      func(Evidence) shown
	}{
		{"Established packet from inside, cost", cheaper, cheaperBy(forward)},
		{"Established packet from outside, cost", cheaper, cheaperBy(reverse)},
		{"Established packets both ways, cost of one", cheaper, cheaperBy(throughput)},
		{"The same of 16 hosts, cost of one", cheaper, cheaperBy(hostsThroughput)},
		{"New session, cost", cheaper, cheaperBy(establish)},
		{"New session of 16 hosts, cost", cheaper, cheaperBy(hostsEstablish)},
		{"Whole path, established packets both ways", fmt.Sprintf("%d times as fast", timesFaster), fasterBy(throughput, "rate", timesFaster)},
		{"Tear-down", fmt.Sprintf("%d times as fast", timesTornDown), fasterBy(teardown, "teardown", timesTornDown)},
		{"Memory of a session", fmt.Sprintf("at most %d bytes", mostBytes), memories},
		{"Memory of 40 million sessions", fmt.Sprintf("at most %.0f GB", mostManyBytes/1e9), manyMemories},
		{"An established packet with 65,535 names in the pool beside 256 (50,000 sessions)", "within 10 %", names},
		{"A verdict about a new session, by a filter and 20,000 bans (200,000 sessions)", fmt.Sprintf("%d times cheaper than nfqueue's", timesDecided), verdicts},
		{"A connection of one packet, by geofence, a blocklist of 100,000 and honeypot", fmt.Sprintf("at most %d ns, and none lost", mostProtected), protections},
		{"A function of a chain of 8 that does nothing, inlined", fmt.Sprintf("at most %d ns", mostInlined), hopBelow("hop_inlined", mostInlined)},
		{"The same where each is a program, as a user's own are", fmt.Sprintf("at most %d ns", mostOwn), hopBelow("hop_own", mostOwn)},
		{"The tester alone (null), both ways", si(leastNull) + "/s", null},
	} {
		shown := told(e, line.show)
		rows = append(rows, Row{line.what, line.aim, shown.text, shown.met})
	}
	return rows
}

// told is what was measured, or why it was not.
func told(e Evidence, show func(Evidence) shown) (s shown) {
	defer func() {
		if lacking, ok := recover().(absent); ok {
			s = shown{"not measured: " + string(lacking), Unknown}
		}
	}()
	return show(e)
}

// better is of iptables and nftables the one with the higher rate in a job.
func (e Evidence) better(job, metric string) string {
	if e.median(job, "nftables", metric, nil) > e.median(job, "iptables", metric, nil) {
		return "nftables"
	}
	return "iptables"
}

func cheaperBy(job Job) func(Evidence) shown {
	return func(e Evidence) shown {
		peer := e.better(job.Name, "rate")
		cost := func(dut string) string { return e.figure(job.Name, dut, "cost", nil).in(" ns", whole) }
		s := shown{fmt.Sprintf("Realmgate %s, %s %s", cost("realmgate"), peer, cost(peer)), Undecided}
		if q, ok := e.cheaper(job.Name, "realmgate", peer, "rate", nil); ok {
			s = shown{fmt.Sprintf("%s: %s times cheaper", s.text, q.in("", tenths)), q.above(timesCheaper)}
		}
		return s
	}
}

func whole(v float64) string  { return fmt.Sprintf("%.0f", v) }
func tenths(v float64) string { return fmt.Sprintf("%.1f", v) }

// fasterBy compares rates.
func fasterBy(job Job, metric string, aim float64) func(Evidence) shown {
	return func(e Evidence) shown {
		peer := e.better(job.Name, metric)
		rate := func(dut string) string { return e.figure(job.Name, dut, metric, nil).in("/s", si) }
		q := e.ratio(job.Name, "realmgate", peer, metric, nil)
		return shown{fmt.Sprintf("Realmgate %s, %s %s: %s times", rate("realmgate"), peer, rate(peer), q.in("", tenths)), q.above(aim)}
	}
}

func null(e Evidence) shown {
	rate := e.figure(throughput.Name, e[throughput.Name].Control, "rate", nil)
	return shown{rate.in("/s", si), rate.above(leastNull)}
}

func memories(e Evidence) shown {
	bytes := func(dut string) figure { return e.figure(memory.Name, dut, "memory", nil) }
	return shown{
		fmt.Sprintf("Realmgate %s, iptables %s, buckets and fixed parts with them", bytes("realmgate").in(" bytes", whole), bytes("iptables").in(" bytes", whole)),
		bytes("realmgate").below(mostBytes),
	}
}

// manyMemories reads what the kernel accounts for: one reading is exact.
func manyMemories(e Evidence) shown {
	var texts []string
	for _, job := range []Job{manyRealmgate, manyIptables, manyNftables} {
		bytes := e.median(job.Name, job.Devices[0], "memory", nil) * float64(job.Sessions)
		texts = append(texts, fmt.Sprintf("%s %.1f GB", job.Devices[0], bytes/1e9))
	}
	ours := e.median(manyRealmgate.Name, "realmgate", "memory", nil) * float64(manyRealmgate.Sessions)
	return shown{strings.Replace(strings.Join(texts, ", "), "realmgate", "Realmgate", 1), holds(ours <= mostManyBytes)}
}

// names compares costs, which do not have the tester's own rate in them.
func names(e Evidence) shown {
	cost := func(metric string, pool float64) figure {
		return e.figure(markDNAT.Name, "realmgate", metric, at{"pool": pool})
	}
	const few, many = 256, 65535
	ratio, ok := paired(e.result(markDNAT.Name, "realmgate", "cost_reuse", at{"pool": many}), e.result(markDNAT.Name, "realmgate", "cost_reuse", at{"pool": few}))
	if !ok {
		panic(absent("the report of mark-dnat has no round with costs of both pools"))
	}
	text := fmt.Sprintf("%s with 65,535, %s with 256; a new session %s and %s", cost("cost_reuse", many).in(" ns", whole), cost("cost_reuse", few).in(" ns", whole),
		cost("cost", many).in(" ns", whole), cost("cost", few).in(" ns", whole))
	if ratio.why != "" {
		text += "; " + ratio.why
	}
	return shown{text, ratio.within(sameCost)}
}

// summaryTable writes the summary in Markdown.
func summaryTable(e Evidence) string {
	var text strings.Builder
	text.WriteString("| A million sessions of one host | Aim | Measured | Met |\n| --- | --- | --- | --- |\n")
	for _, row := range Summary(e) {
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", row.What, cell(row.Aim), cell(row.Measured), row.Met)
	}
	return text.String()
}
