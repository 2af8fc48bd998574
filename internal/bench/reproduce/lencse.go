package reproduce

import "fmt"

// Forty million sessions, one device at a time: two would not fit in memory.
var (
	manyIptables  = Job{Name: "nat44-40m-iptables", Scenario: "nat44-teardown", Devices: []string{"iptables"}, Sessions: 40_000_000, Repeat: 1}
	manyNftables  = Job{Name: "nat44-40m-nftables", Scenario: "nat44-teardown", Devices: []string{"nftables"}, Sessions: 40_000_000, Repeat: 1}
	manyRealmgate = Job{Name: "nat44-40m-realmgate", Scenario: "nat44-teardown", Devices: []string{"realmgate"}, Sessions: 40_000_000, Repeat: 1}
	establish     = Job{Name: "nat44-establish", Scenario: "nat44-establish", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 10}
	throughput    = Job{Name: "nat44-throughput", Scenario: "nat44-throughput", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 10}
	teardown      = Job{Name: "nat44-teardown", Scenario: "nat44-teardown", Devices: []string{"realmgate", "iptables", "nftables"}, Sessions: 1_000_000, Repeat: 5}
)

func lencse() Paper {
	return Paper{
		Name:     "Lencse and Shima 2023, Optimizing the Performance of the Iptables Stateful NAT44 Solution",
		Hardware: "16 cores (Xeon E5-2683 v4), 384 GB, 10 GbE, Linux 4.9 and 4.19, 40 M connections, siitperf",
		Findings: []Finding{
			{
				Item: "Table I", Needs: []Job{hashLoad},
				Claim: "The rate of new connections falls, faster and faster, once there are more connections than buckets.",
				Then:  "load 0.6 to 19: 2.26M to 0.44M new/s",
				Judge: func(e Evidence) Verdict {
					v := judgeHashLoad(e, 0.6, 19)
					v.Holds = holds(fall(e.sweep("hash-load", "iptables", "rate", "load")) > 1.5)
					return v
				},
			},
			{
				Item: "Table II", Needs: []Job{hashLoad},
				Claim: "So does throughput, but less.",
				Then:  "load 0.6 to 19: 4.25M to 1.72M packets/s, both ways",
				Judge: func(e Evidence) Verdict {
					v := judgeHashLoad(e, 0.6, 19)
					fresh, known := fall(e.sweep("hash-load", "iptables", "rate", "load")), fall(e.sweep("hash-load", "iptables", "rate_reuse", "load"))
					v.Holds = holds(known > 1.2 && known < fresh)
					return v
				},
			},
			{
				Item: "Table III", Needs: []Job{teardown, manyIptables, manyRealmgate},
				Claim: "Connections are deleted at a rate that does not depend on the buckets.",
				Then:  "268k/s, 40 M in 150 s",
				Judge: judgeTeardown,
			},
			{
				Item: "Tables IV, V", Needs: []Job{memory},
				Claim: "A bucket takes 8 bytes, a connection 385, whatever the number of buckets.",
				Then:  "385.4 bytes a connection",
				Judge: func(e Evidence) Verdict { return sessionMemory(e, "the object has grown little since") },
			},
			{
				Item: "Table VI", Needs: []Job{limits},
				Claim: "The largest settings do not depend on memory from 8 GB on.",
				Then:  "2^28 buckets, 2^30 connections",
				Judge: judgeLimits,
			},
			{
				Item: "Table VII", Needs: []Job{establish, throughput},
				Claim: "nftables makes a tenth of the new connections of iptables, and a fifth of the throughput.",
				Then:  "228k new/s and 836k packets/s (on another kernel than iptables)",
				Judge: judgeNftables,
			},
			{
				Item: "40 M connections", Needs: []Job{manyIptables, manyNftables, manyRealmgate},
				Claim: "A gateway holds 40 M connections.",
				Then:  "15 GB and 0.5 GB of buckets",
				Judge: judgeMany,
			},
		},
	}
}

func judgeTeardown(e Evidence) Verdict {
	few, many := e.median("nat44-teardown", "iptables", "teardown", nil), e.median("nat44-40m-iptables", "iptables", "teardown", nil)
	ours := e.median("nat44-teardown", "realmgate", "teardown", nil)
	return Verdict{
		Holds:     Partly,
		Netfilter: fmt.Sprintf("%s/s of 1 M, %s/s of 40 M", si(few), si(many)),
		Realmgate: fmt.Sprintf("%s/s of 1 M (%.1f times), %s/s of 40 M", si(ours), ours/few, si(e.median("nat44-40m-realmgate", "realmgate", "teardown", nil))),
		Why:       "the number of buckets was not changed here; flushing through netlink instead of removing the modules",
	}
}

func judgeNftables(e Evidence) Verdict {
	fresh := e.median("nat44-establish", "nftables", "rate", nil) / e.median("nat44-establish", "iptables", "rate", nil)
	known := e.median("nat44-throughput", "nftables", "rate", nil) / e.median("nat44-throughput", "iptables", "rate", nil)
	return Verdict{
		Holds: holds(fresh < 0.5 && known < 0.5),
		Netfilter: fmt.Sprintf("iptables %s, nftables %s new/s; %s and %s packets/s", si(e.median("nat44-establish", "iptables", "rate", nil)),
			si(e.median("nat44-establish", "nftables", "rate", nil)), si(e.median("nat44-throughput", "iptables", "rate", nil)), si(e.median("nat44-throughput", "nftables", "rate", nil))),
		Realmgate: fmt.Sprintf("%s new/s, %s packets/s", si(e.median("nat44-establish", "realmgate", "rate", nil)), si(e.median("nat44-throughput", "realmgate", "rate", nil))),
		Why:       fmt.Sprintf("on one kernel nftables reaches %.0f %% and %.0f %% of iptables: the paper compared kernels", 100*fresh, 100*known),
	}
}

func judgeMany(e Evidence) Verdict {
	ours, theirs := e.median("nat44-40m-realmgate", "realmgate", "memory", nil), e.median("nat44-40m-iptables", "iptables", "memory", nil)
	return Verdict{
		Holds: holds(theirs > 0), // a valid trial counts all of them in the device
		Netfilter: fmt.Sprintf("iptables %s, nftables %s new/s, %.1f GB", si(e.median("nat44-40m-iptables", "iptables", "rate", nil)),
			si(e.median("nat44-40m-nftables", "nftables", "rate", nil)), 40e6*theirs/1e9),
		Realmgate: fmt.Sprintf("%s new/s, %.1f GB", si(e.median("nat44-40m-realmgate", "realmgate", "rate", nil)), 40e6*ours/1e9),
	}
}
