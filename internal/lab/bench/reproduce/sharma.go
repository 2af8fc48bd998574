package reproduce

import (
	"fmt"
	"math"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// Jobs that several findings need. Sizes are what a machine of two cores does in
// minutes; sources have more sessions.
var (
	limits        = Job{Name: "conntrack-limits", Scenario: "conntrack-limits", Repeat: 1}
	sessionMemory = Job{Name: "session-memory", Scenario: "session-memory", Repeat: 1}
	memory        = Job{Name: "nat44-memory", Scenario: "nat44-memory", Devices: []string{"iptables", "realmgate"}, Sessions: 1_000_000, Repeat: 3}
	hashLoad      = Job{Name: "hash-load", Scenario: "hash-load", Sessions: 1_000_000, Repeat: 2}
	flowCount     = Job{Name: "flow-count", Scenario: "flow-count", Repeat: 2}
	pinning       = Job{Name: "cpu-pinning", Scenario: "cpu-pinning", Repeat: 3}
	targets       = Job{Name: "targets", Scenario: "targets", Repeat: 5}
	position      = Job{Name: "rule-position", Scenario: "rule-position", Repeat: 3}
	markDNAT      = Job{Name: "mark-dnat", Scenario: "mark-dnat", Repeat: 3}
	queue         = Job{Name: "nfqueue", Scenario: "nfqueue", Repeat: 3}
	arrangement   = Job{Name: "rule-arrangement", Scenario: "rule-arrangement", Repeat: 3}
)

func sharma() Paper {
	return Paper{
		Name:     "Sharma 2018, Evaluating the performance of Netfilter architecture in Private Realm Gateway",
		Hardware: "24 CPUs (Xeon E5-2630), 32 GB, Linux 4.8, veth, 64-octet UDP, median of 10 runs",
		Figures: "Figure 25 has each load at 1 to 16 M connections. Here the load is varied at one number of them, and the number only without tracking. " +
			"Figures 33 and 35 have rates and look-ups in one picture, here each has its own. Figures 1 to 24 and 34 are designs and set-ups.",
		Findings: []Finding{
			{
				Item: "Table 12", Needs: []Job{limits},
				Claim: "The kernel, not memory, bounds the number of connections and of buckets.",
				Then:  "2^29 connections, 2^28 buckets",
				Judge: judgeLimits,
			},
			{
				Item: "Table 13", Needs: []Job{sessionMemory},
				Claim: "A connection takes the same memory whatever the number of connections.",
				Then:  "320 bytes for 1 to 16 M",
				Judge: judgeMemory,
			},
			{
				Item: "Table 14", Needs: []Job{hashLoad},
				Claim: "A connection takes the same memory whatever the number of buckets.",
				Then:  "320 bytes for 8 M in nine sizes",
				Judge: judgeMemoryByBuckets,
			},
			{
				Item: "Table 15", Needs: []Job{flowCount},
				Claim: "Without tracking the rate does not depend on the number of flows.",
				Then:  "226k to 254k packets/s for 1 to 16 M flows",
				Judge: judgeNoTrack,
			},
			{
				Item: "Table 16, Figure 25", Needs: []Job{hashLoad},
				Claim: "Fuller buckets are slower, for new connections more than for known ones.",
				Then:  "load 1 to 16: new 143k to 89k, known 319k to 282k packets/s",
				Judge: func(e Evidence) Verdict { return judgeHashLoad(e, 1, 16) },
			},
			{
				Item: "Table 17, Figure 26", Needs: []Job{pinning},
				Claim: "Pinning the sender to a CPU helps a little.",
				Then:  "known, load 8: normal 169k, pinned 213k packets/s. Not repeated: *reserved*, a CPU kept free at boot, which no program can do later",
				Judge: judgePinning,
			},
			{
				Item: "Figure 27", Needs: []Job{targets},
				Claim: "Known connections are faster than new ones; NOTRACK is fastest for new ones; SNAT is slowest.",
				Then:  "a figure without numbers",
				Judge: judgeTargets,
			},
			{
				Item: "Figures 28 to 30", Needs: []Job{position},
				Claim: "A DNAT rule far down a list of 65,536 is very slow to reach; keep under 200.",
				Then:  "about 15 % slower with every 100 rules",
				Judge: judgePosition,
			},
			{
				Item: "Figure 31", Needs: []Job{markDNAT},
				Claim: "One rule that takes its target from the mark (MARKDNAT) is as fast at any number of targets; a list is not.",
				Then:  "constant against falling, up to 2,048 rules",
				Judge: judgeMarkDNAT,
			},
			{
				Item: "Figure 32", Needs: []Job{queue},
				Claim: "More queues to user space do not help, nor does the CPU fan-out.",
				Then:  "eight queues somewhat slower than four",
				Judge: judgeQueues,
			},
			{
				Item: "Table 18, Figure 33", Needs: []Job{arrangement},
				Claim: "Rules in as many chains as each has rules need the fewest look-ups.",
				Then:  "2,147,581,952 look-ups in one chain, 16,842,752 in 256",
				Judge: judgeLinear,
			},
			{
				Item: "Table 19, Figure 35", Needs: []Job{arrangement},
				Claim: "Nested chains need fewer still; how deep they nest matters little.",
				Then:  "9,601,024, 9,240,576 and 9,142,272 look-ups in 2, 3 and 4 levels",
				Judge: judgeNested,
			},
		},
	}
}

// judgeLimits asks whether memory can be what bounds the settings: then as much of
// them would be taken as fits.
func judgeLimits(e Evidence) Verdict {
	connections, buckets := e.median("conntrack-limits", "conntrack", "most_connections", nil), e.median("conntrack-limits", "conntrack", "most_buckets", nil)
	room := float64(e["conntrack-limits"].Environment.MemoryBytes)
	if room == 0 {
		panic(absent("the report of conntrack-limits does not say how much memory the machine has"))
	}
	byKernel := func(bytes float64) Holds { return holds(bytes < room/2 || bytes > room) }
	return Verdict{
		Holds:     every(byKernel(method.ConnectionBytes*connections), byKernel(method.BucketBytes*buckets)),
		Netfilter: fmt.Sprintf("%s connections, %s buckets, to a thousandth%s", si(connections), si(buckets), e.powers()),
		Realmgate: "64,000,000 sessions, a bound of its configuration",
		Why: fmt.Sprintf("of %.0f GB of memory they would take %.1f and %.1f: as much as half of it would be a bound by memory",
			room/1e9, method.ConnectionBytes*connections/1e9, method.BucketBytes*buckets/1e9),
	}
}

// powers tells which powers of two were tried.
func (e Evidence) powers() (text string) {
	for _, what := range []string{"connections", "buckets"} {
		points := e.points("conntrack-limits", "conntrack", "taken_most_"+what, "value")
		taken, refused := 0.0, 0.0
		for _, r := range points {
			if x := r.Parameters["value"]; r.Median > 0 {
				taken = x
			} else if refused == 0 {
				refused = x
			}
		}
		if taken > 0 {
			text += fmt.Sprintf("; %s of 2^%.0f are taken", what, math.Log2(taken))
		}
		if refused > 0 {
			text += fmt.Sprintf(", of 2^%.0f refused", math.Log2(refused))
		}
	}
	return text
}

// sameMemory is by how much a connection may take more or less at other sizes: the
// kernel gives memory in pages.
const sameMemory = 1.1

// judgeMemory compares what connections add in the smallest and the largest table, as the
// kernel's allocator counts it: one reading is exact.
func judgeMemory(e Evidence) Verdict {
	c := e.curve("session-memory", "iptables", "memory_growth", "sessions")
	few, many := float64(c.first().Median), float64(c.last().Median)
	return Verdict{
		Holds:     holds(many < few*sameMemory && few < many*sameMemory),
		Netfilter: fmt.Sprintf("%.0f bytes of %s, %.0f of %s", few, si(c.x(c.first())), many, si(c.x(c.last()))),
		Realmgate: fmt.Sprintf("%.0f bytes of %s, taken at start", e.median("session-memory", "realmgate", "memory", at{"sessions": c.x(c.last())}), si(c.x(c.last()))),
		Why:       "the buckets grow with the connections here",
	}
}

// judgeMemoryByBuckets compares what the same connections add in tables of the fewest
// and the most buckets.
func judgeMemoryByBuckets(e Evidence) Verdict {
	c := e.curve("hash-load", "iptables", "memory_growth", "load")
	at := func(r bench.Result) figure { return e.figure("hash-load", "iptables", "memory_growth", r.Parameters) }
	most, fewest := c.first(), c.last()
	return Verdict{
		Holds:     at(fewest).by(at(most)).within(sameMemory),
		Netfilter: fmt.Sprintf("%.0f bytes at load %g, %.0f at load %g", at(most).median, c.x(most), at(fewest).median, c.x(fewest)),
		Realmgate: "has no such setting",
		Why:       "the same connections in all tables",
	}
}

// sameRate is how far rates may be apart that are called the same.
const sameRate = 1.25

func judgeNoTrack(e Evidence) Verdict {
	fresh, known := e.curve("flow-count", "route", "rate", "flows"), e.curve("flow-count", "route", "rate_reuse", "flows")
	text := func(c curve) string {
		text := ""
		for i, r := range c.points {
			if i > 0 {
				text += ", "
			}
			text += si(float64(r.Median))
		}
		return text
	}
	return Verdict{
		Holds:     every(fresh.fall().within(sameRate), known.fall().within(sameRate)),
		Netfilter: fmt.Sprintf("%s to %s flows, each once: %s packets/s; at random: %s", si(fresh.x(fresh.first())), si(fresh.x(fresh.last())), text(fresh), text(known)),
		Realmgate: "always tracks",
		Why:       fmt.Sprintf("a packet costs %s times as much with the most flows, at random %s times, beyond what the tester takes", fresh.fall(), known.fall()),
	}
}

// judgeHashLoad compares the emptiest and the fullest table between two loads.
func judgeHashLoad(e Evidence, from, to float64) Verdict {
	between := func(metric string) figure {
		c := e.curve("hash-load", "iptables", metric, "load")
		return c.slower(c.near(from), c.near(to))
	}
	fresh, known := between("rate"), between("rate_reuse")
	text := func(dut, metric string) string {
		c := e.curve("hash-load", dut, metric, "load")
		return si(float64(c.near(from).Median)) + " to " + si(float64(c.near(to).Median))
	}
	return Verdict{
		Holds:     together(fresh.above(1), known.above(1), fresh.by(known).above(1)),
		Netfilter: fmt.Sprintf("load %g to %g: new %s, known %s packets/s", from, to, text("iptables", "rate"), text("iptables", "rate_reuse")),
		Realmgate: fmt.Sprintf("no such setting: new %s, known %s packets/s", text("realmgate", "rate"), text("realmgate", "rate_reuse")),
		Why:       fmt.Sprintf("new costs %s times as much, known %s times", fresh, known),
	}
}

// littleHelp is the least gain that is called one.
const littleHelp = 1.02

func judgePinning(e Evidence) Verdict {
	known := func(dut string, pinned float64) figure {
		return e.figure("cpu-pinning", dut, "rate_reuse", at{"pinned": pinned}) // the first load, 8
	}
	free, pinned := known("conntrack", 0), known("conntrack", 1)
	gain := pinned.by(free)
	return Verdict{
		Holds:     gain.above(littleHelp),
		Netfilter: fmt.Sprintf("known: not pinned %s, pinned %s packets/s", free, pinned),
		Realmgate: fmt.Sprintf("not pinned %s, pinned %s packets/s", known("realmgate", 0), known("realmgate", 1)),
		Why:       fmt.Sprintf("pinned it makes %s of what it makes else, and %.0f %% more is called help", gain, 100*(littleHelp-1)),
	}
}
