package reproduce

import (
	"fmt"
	"math"
)

// Forty million sessions, one device at a time: two would not fit in memory.
var (
	manyIptables    = Job{Name: "nat44-40m-iptables", Scenario: "nat44-teardown", Devices: []string{"iptables"}, Sessions: 40_000_000, Repeat: 1}
	manyNftables    = Job{Name: "nat44-40m-nftables", Scenario: "nat44-teardown", Devices: []string{"nftables"}, Sessions: 40_000_000, Repeat: 1}
	manyRealmgate   = Job{Name: "nat44-40m-realmgate", Scenario: "nat44-teardown", Devices: []string{"realmgate"}, Sessions: 40_000_000, Repeat: 1}
	establish       = Job{Name: "nat44-establish", Scenario: "nat44-establish", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 5}
	throughput      = Job{Name: "nat44-throughput", Scenario: "nat44-throughput", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 5}
	forward         = Job{Name: "nat44-throughput-forward", Scenario: "nat44-throughput", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 5, Direction: "forward"}
	reverse         = Job{Name: "nat44-throughput-reverse", Scenario: "nat44-throughput", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 5, Direction: "reverse"}
	hostsEstablish  = Job{Name: "nat44-establish-hosts", Scenario: "nat44-establish", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Hosts: 16, Repeat: 5}
	hostsThroughput = Job{Name: "nat44-throughput-hosts", Scenario: "nat44-throughput", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Hosts: 16, Repeat: 5}
	teardown        = Job{Name: "nat44-teardown", Scenario: "nat44-teardown", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 5}
)

func lencse() Paper {
	return Paper{
		Name:     "Lencse and Shima 2023, Optimizing the Performance of the Iptables Stateful NAT44 Solution",
		Hardware: "16 cores (Xeon E5-2683 v4), 384 GB, 10 GbE, Linux 4.9 and 4.19, 40 M connections, siitperf",
		Figures:  "Its four figures are set-ups and a hash table: what it measured is in tables.",
		Findings: []Finding{
			{
				Item: "Table I", Needs: []Job{hashLoad},
				Claim: "The rate of new connections falls, faster and faster, once there are more connections than buckets.",
				Then:  "load 0.6 to 19: 2.26M to 0.44M new/s",
				Judge: judgeFuller,
			},
			{
				Item: "Table II", Needs: []Job{hashLoad},
				Claim: "So does throughput, but less.",
				Then:  "load 0.6 to 19: 4.25M to 1.72M packets/s, both ways",
				Judge: judgeFullerKnown,
			},
			{
				Item: "Table III", Needs: []Job{hashLoad, teardown, manyIptables, manyRealmgate},
				Claim: "Connections are deleted at a rate that does not depend on the buckets.",
				Then:  "268k/s, 40 M in 150 s",
				Judge: judgeTeardown,
			},
			{
				Item: "Tables IV, V", Needs: []Job{hashLoad, limits},
				Claim: "A bucket takes 8 bytes, a connection 385, whatever the number of buckets.",
				Then:  "385.4 bytes a connection",
				Judge: func(e Evidence) Verdict {
					v := judgeMemoryByBuckets(e)
					if r, ok := e.find("conntrack-limits", "conntrack", "bucket", nil); ok {
						v.Netfilter += fmt.Sprintf("; a bucket takes %.2f bytes", float64(r.Median))
						v.Holds = together(v.Holds, holds(r.Median > 7.5 && r.Median < 8.5))
						return v
					}
					v.Holds, v.Why = Undecided, v.Why+"; what a bucket takes was not measured"
					return v
				},
			},
			{
				Item: "Table VI", Needs: []Job{limits},
				Claim: "The largest settings do not depend on memory from 8 GB on.",
				Then:  "2^28 buckets, 2^30 connections",
				Judge: judgeLimitsByMemory,
			},
			{
				Item: "Table VII", Needs: []Job{establish, throughput},
				Claim: "nftables makes a tenth of the new connections of iptables, and a fifth of the throughput.",
				Then:  "228k new/s and 836k packets/s (on another kernel than iptables)",
				Judge: judgeNftables,
			},
			{
				Item: "40 M connections", Needs: []Job{teardown, manyIptables, manyNftables, manyRealmgate},
				Claim: "A gateway holds 40 M connections.",
				Then:  "15 GB and 0.5 GB of buckets",
				Judge: judgeMany,
			},
		},
	}
}

// judgeFuller wants the rate of new connections to fall, and each doubling of the
// load to cost more than the one before.
func judgeFuller(e Evidence) Verdict {
	v := judgeHashLoad(e, 0.6, 19)
	c := e.curve("hash-load", "iptables", "rate", "load")
	one, some, many := c.near(1), c.near(4), c.near(16)
	early, late := c.slower(one, some).root(math.Log2(c.x(some)/c.x(one))), c.slower(some, many).root(math.Log2(c.x(many)/c.x(some)))
	v.Holds = together(c.fall().above(1), late.by(early).above(1))
	v.Why = fmt.Sprintf("%s-fold in all; each doubling from load %g to %g makes it cost %s times as much, to %g %s times", c.fall(), c.x(one), c.x(some), early, c.x(many), late)
	return v
}

func judgeFullerKnown(e Evidence) Verdict {
	v := judgeHashLoad(e, 0.6, 19)
	fresh, known := e.curve("hash-load", "iptables", "rate", "load").fall(), e.curve("hash-load", "iptables", "rate_reuse", "load").fall()
	v.Holds = together(known.above(1), fresh.by(known).above(1))
	return v
}

// judgeLimitsByMemory has one machine, and so one size of memory.
func judgeLimitsByMemory(e Evidence) Verdict {
	v := judgeLimits(e)
	v.Holds, v.Why = Undecided, fmt.Sprintf("memory was not varied: this machine has %.0f GB", float64(e["conntrack-limits"].Environment.MemoryBytes)/1e9)
	return v
}

// sameOrder is how far rates may be apart that are called the same: a table of more
// buckets takes longer to be walked through.
const sameOrder = 2

// judgeTeardown compares the same connections in tables of the most and the fewest buckets.
func judgeTeardown(e Evidence) Verdict {
	c := e.curve("hash-load", "iptables", "teardown", "load")
	rate := func(job, dut string, where at) figure { return e.figure(job, dut, "teardown", where) }
	most, fewest := rate("hash-load", "iptables", c.first().Parameters), rate("hash-load", "iptables", c.last().Parameters)
	return Verdict{
		Holds: fewest.by(most).within(sameOrder),
		Netfilter: fmt.Sprintf("%s/s at load %g, %s/s at load %g; %s/s of 40 M", most, c.x(c.first()), fewest, c.x(c.last()),
			rate("nat44-40m-iptables", "iptables", nil)),
		Realmgate: fmt.Sprintf("%s/s of 1 M (%s times), %s/s of 40 M", rate("nat44-teardown", "realmgate", nil),
			e.ratio("nat44-teardown", "realmgate", "iptables", "teardown", nil), rate("nat44-40m-realmgate", "realmgate", nil)),
		Why: "the same connections in all tables, but 40 M" + cold(e, "nat44-40m-iptables", "nat44-40m-realmgate"),
	}
}

// cold says of which jobs each figure is a single trial, that nothing warmed up.
func cold(e Evidence, jobs ...string) string {
	for _, job := range jobs {
		for _, r := range e[job].Results {
			if len(rounds(r)) == 1 {
				return "; of 40 M there is one trial each (n = 1), and a cold one"
			}
		}
	}
	return ""
}

// judgeNftables compares on one kernel. The paper compared kernels.
func judgeNftables(e Evidence) Verdict {
	fresh, known := e.faster("nat44-establish", "nftables", "iptables", "rate", nil), e.faster("nat44-throughput", "nftables", "iptables", "rate", nil)
	rate := func(job, dut string) string { return si(e.median(job, dut, "rate", nil)) }
	return Verdict{
		Holds: together(fresh.below(0.5), known.below(0.5)),
		Netfilter: fmt.Sprintf("iptables %s, nftables %s new/s; %s and %s packets/s", rate("nat44-establish", "iptables"),
			rate("nat44-establish", "nftables"), rate("nat44-throughput", "iptables"), rate("nat44-throughput", "nftables")),
		Realmgate: fmt.Sprintf("%s new/s, %s packets/s", rate("nat44-establish", "realmgate"), rate("nat44-throughput", "realmgate")),
		Why:       fmt.Sprintf("on one kernel iptables takes by cost %s of what nftables takes for new and %s for known connections: the paper compared kernels", fresh, known),
	}
}

// collapsed is the share of the rate with fewer connections below which a table
// does not hold them (RFC 9693, table capacity).
const collapsed = 0.5

// judgeMany takes a valid trial, in which the device counts all of them, for holding
// them, unless their rate collapsed.
func judgeMany(e Evidence) Verdict {
	rate := func(dut string) figure { return e.figure("nat44-40m-"+dut, dut, "rate", nil) }
	size := func(dut string) float64 { return 40e6 * e.median("nat44-40m-"+dut, dut, "memory", nil) / 1e9 }
	left := rate("iptables").by(e.figure("nat44-teardown", "iptables", "rate", nil))
	return Verdict{
		Holds: left.above(collapsed),
		Netfilter: fmt.Sprintf("iptables %s, nftables %s new/s, %.1f and %.1f GB", rate("iptables"), rate("nftables"),
			size("iptables"), size("nftables")),
		Realmgate: fmt.Sprintf("%s new/s, %.1f GB", rate("realmgate"), size("realmgate")),
		Why: fmt.Sprintf("iptables opens them at %.0f %% of the rate of 1 M, and counts them all", 100*left.median) +
			cold(e, "nat44-40m-iptables", "nat44-40m-nftables", "nat44-40m-realmgate"),
	}
}
