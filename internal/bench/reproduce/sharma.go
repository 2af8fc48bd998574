package reproduce

import "fmt"

// Jobs that several findings need. Sizes are what a machine of two cores does in
// minutes; sources have more sessions.
var (
	limits      = Job{Name: "conntrack-limits", Scenario: "conntrack-limits", Repeat: 1}
	memory      = Job{Name: "nat44-memory", Scenario: "nat44-memory", Devices: []string{"iptables", "realmgate"}, Sessions: 1_000_000, Repeat: 3}
	hashLoad    = Job{Name: "hash-load", Scenario: "hash-load", Sessions: 1_000_000, Repeat: 3}
	routing     = Job{Name: "routing", Scenario: "routing", Sessions: 1_000_000, Repeat: 5}
	pinning     = Job{Name: "cpu-pinning", Scenario: "cpu-pinning"}
	targets     = Job{Name: "targets", Scenario: "targets", Repeat: 5}
	position    = Job{Name: "rule-position", Scenario: "rule-position", Repeat: 5}
	markDNAT    = Job{Name: "mark-dnat", Scenario: "mark-dnat", Repeat: 5}
	queue       = Job{Name: "nfqueue", Scenario: "nfqueue"}
	arrangement = Job{Name: "rule-arrangement", Scenario: "rule-arrangement", Repeat: 5}
)

func sharma() Paper {
	return Paper{
		Name:     "Sharma 2018, Evaluating the performance of Netfilter architecture in Private Realm Gateway",
		Hardware: "24 CPUs (Xeon E5-2630), 32 GB, Linux 4.8, veth, 64-octet UDP, median of 10 runs",
		Findings: []Finding{
			{
				Item: "Table 12", Needs: []Job{limits},
				Claim: "The kernel, not memory, bounds the number of connections and of buckets.",
				Then:  "2^29 connections, 2^28 buckets",
				Judge: judgeLimits,
			},
			{
				Item: "Tables 13, 14", Needs: []Job{memory},
				Claim: "A connection takes the same memory whatever the number of connections and buckets.",
				Then:  "320 bytes",
				Judge: func(e Evidence) Verdict {
					return sessionMemory(e, "320 bytes were the bare object; with its extensions it is more")
				},
			},
			{
				Item: "Table 15", Needs: []Job{routing},
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
				Then:  "known, load 8: normal 169k, pinned 213k packets/s",
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

func judgeLimits(e Evidence) Verdict {
	connections, buckets := e.median("conntrack-limits", "conntrack", "most_connections", nil), e.median("conntrack-limits", "conntrack", "most_buckets", nil)
	return Verdict{
		Holds:     holds(connections > 0 && buckets < connections),
		Netfilter: fmt.Sprintf("%.0f connections, %.0f buckets", connections, buckets),
		Realmgate: "64,000,000 sessions, a bound of its configuration",
		Why:       "the bounds themselves have moved",
	}
}

func sessionMemory(e Evidence, why string) Verdict {
	netfilter, realmgate := e.median("nat44-memory", "iptables", "memory", nil), e.median("nat44-memory", "realmgate", "memory", nil)
	return Verdict{
		Holds:     holds(netfilter > 250 && netfilter < 500),
		Netfilter: fmt.Sprintf("%.0f bytes", netfilter),
		Realmgate: fmt.Sprintf("%.0f bytes, taken at start", realmgate),
		Why:       why,
	}
}

func judgeNoTrack(e Evidence) Verdict {
	first, again := e.median("routing", "route", "rate", nil), e.median("routing", "route", "rate_reuse", nil)
	return Verdict{
		Holds:     holds(again > 0.8*first && again < 1.25*first),
		Netfilter: fmt.Sprintf("%s packets/s of new flows, %s of known ones", si(first), si(again)),
		Realmgate: "always tracks",
		Why:       "a flow is nothing to it",
	}
}

func judgeHashLoad(e Evidence, from, to float64) Verdict {
	fresh, known := e.between("hash-load", "iptables", "rate", "load", from, to), e.between("hash-load", "iptables", "rate_reuse", "load", from, to)
	return Verdict{
		Holds:     holds(fall(fresh) > 1.1 && fall(known) > 1.05),
		Netfilter: fmt.Sprintf("load %g to %g: new %s, known %s packets/s", from, to, ends(fresh), ends(known)),
		Realmgate: fmt.Sprintf("no such setting: new %s, known %s packets/s", si(e.median("hash-load", "realmgate", "rate", at{"load": from})), si(e.median("hash-load", "realmgate", "rate_reuse", at{"load": from}))),
		Why:       fmt.Sprintf("new falls %.2f-fold, known %.2f-fold", fall(fresh), fall(known)),
	}
}

func judgeTargets(e Evidence) Verdict {
	rate := func(metric string) float64 { return e.median("targets", "iptables", metric, nil) }
	fresh := map[string]float64{}
	faster := true
	for _, target := range []string{"accept", "notrack", "dnat", "snat", "snat_dnat"} {
		fresh[target] = rate("rate_" + target)
		faster = faster && (target == "notrack" || rate("rate_"+target+"_reuse") > fresh[target])
	}
	notrack := fresh["notrack"] > fresh["accept"] && fresh["notrack"] > fresh["dnat"]
	snat := fresh["snat"] < fresh["accept"]
	verdict := Partly
	if faster && notrack && snat {
		verdict = Yes
	}
	return Verdict{
		Holds: verdict,
		Netfilter: fmt.Sprintf("new: NOTRACK %s, ACCEPT %s, DNAT %s, SNAT %s, both %s packets/s", si(fresh["notrack"]), si(fresh["accept"]),
			si(fresh["dnat"]), si(fresh["snat"]), si(fresh["snat_dnat"])),
		Realmgate: fmt.Sprintf("SNAT: new %s, known %s packets/s", si(e.median("targets", "realmgate", "rate_snat", nil)), si(e.median("targets", "realmgate", "rate_snat_reuse", nil))),
		Why:       fmt.Sprintf("known faster: %t; NOTRACK fastest: %t; SNAT slower than ACCEPT: %t", faster, notrack, snat),
	}
}

func judgePosition(e Evidence) Verdict {
	list := e.sweep("rule-position", "iptables", "rate", "position")
	hundred := e.median("rule-position", "iptables", "rate", at{"position": 100})
	return Verdict{
		Holds:     holds(fall(list) > 10),
		Netfilter: "first to last: " + ends(list) + " new/s; a map of nftables " + ends(e.sweep("rule-position", "nftables-set", "rate", "position")),
		Realmgate: "has no list: see Figure 31",
		Why:       fmt.Sprintf("the 100th rule is reached %.0f %% slower than the first", 100*(1-hundred/list[0].y)),
	}
}
