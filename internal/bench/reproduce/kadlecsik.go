package reproduce

import "fmt"

var (
	tcp       = Job{Name: "tcp-sessions", Scenario: "tcp-sessions", Devices: []string{"realmgate", "iptables", "nftables", "conntrack", "route"}, Sessions: 100_000, Repeat: 5}
	tracking  = Job{Name: "conntrack", Scenario: "conntrack", Sessions: 1_000_000, Repeat: 5}
	filtering = Job{Name: "filter", Scenario: "filter", Sessions: 1_000_000, Repeat: 5}
	ruleCount = Job{Name: "rule-count", Scenario: "rule-count", Repeat: 5}
	ruleLoad  = Job{Name: "rule-load-time", Scenario: "rule-load-time", Repeat: 5}
)

func kadlecsik() Paper {
	return Paper{
		Name:     "Kadlecsik and Pásztor, Netfilter Performance Testing",
		Hardware: "two Opterons of 2.2 GHz, 4 GB, 1 GbE, Linux 2.6.11, TCP sessions of about 10 packets",
		Findings: []Finding{
			{
				Item: "Figures 7, 8", Needs: []Job{tracking},
				Claim: "Tracking connections halves the performance of routing.",
				Then:  "55k to 25k new/s, 700k to 335k packets/s",
				Judge: judgeTracking,
			},
			{
				Item: "Figures 9, 10", Needs: []Job{filtering},
				Claim: "Ten rules on top of that are not to be seen.",
				Then:  "the same within what the graphs show",
				Judge: judgeFiltering,
			},
			{
				Item: "Figures 11 to 13", Needs: []Job{tcp},
				Claim: "NAT on top of that costs once more.",
				Then:  "20k new/s or less, 200k packets/s",
				Judge: judgeTCP,
			},
			{
				Item: "Figure 14", Needs: []Job{manyIptables, manyRealmgate},
				Claim: "Millions of connections at one time are no problem.",
				Then:  "3.5 M",
				Judge: func(e Evidence) Verdict {
					v := judgeMany(e)
					v.Why = "more than ten times as many"
					return v
				},
			},
			{
				Item: "Figures 15, 16", Needs: []Job{ruleCount},
				Claim: "iptables slows down with the number of rules; ipset does not.",
				Then:  "16 to 16,384 rules, a figure without numbers",
				Judge: judgeRuleCount,
			},
			{
				Item: "the last figure", Needs: []Job{ruleLoad},
				Claim: "Adding rules one by one takes iptables far longer than ipset.",
				Then:  "a figure without numbers",
				Judge: judgeRuleLoad,
			},
		},
	}
}

func judgeTracking(e Evidence) Verdict {
	route, track := e.median("conntrack", "route", "rate", nil), e.median("conntrack", "conntrack", "rate", nil)
	routeKnown, trackKnown := e.median("conntrack", "route", "rate_reuse", nil), e.median("conntrack", "conntrack", "rate_reuse", nil)
	return Verdict{
		Holds:     holds(track < 0.75*route),
		Netfilter: fmt.Sprintf("new: routed %s, tracked %s/s; known: %s, %s packets/s", si(route), si(track), si(routeKnown), si(trackKnown)),
		Realmgate: "always translates: see Table VII of Lencse and Shima",
		Why:       fmt.Sprintf("tracking leaves %.0f %% for new and %.0f %% for known connections", 100*track/route, 100*trackKnown/routeKnown),
	}
}

func judgeFiltering(e Evidence) Verdict {
	rate := func(dut, metric string) float64 { return e.median("filter", dut, metric, nil) }
	fresh, known := rate("iptables", "rate")/rate("conntrack", "rate"), rate("iptables", "rate_reuse")/rate("conntrack", "rate_reuse")
	return Verdict{
		Holds: holds(fresh > 0.85 && known > 0.85),
		Netfilter: fmt.Sprintf("tracked, ten rules too: new %s, %s/s; known %s, %s packets/s", si(rate("conntrack", "rate")), si(rate("iptables", "rate")),
			si(rate("conntrack", "rate_reuse")), si(rate("iptables", "rate_reuse"))),
		Realmgate: "rules come with chains (a later part)",
		Why:       fmt.Sprintf("%.0f %% are left for new and %.0f %% for known connections", 100*fresh, 100*known),
	}
}

func judgeRuleCount(e Evidence) Verdict {
	list, set := e.sweep("rule-count", "iptables", "rate", "rules"), e.sweep("rule-count", "ipset", "rate", "rules")
	return Verdict{
		Holds:     holds(fall(list) > 5 && fall(set) < 1.3),
		Netfilter: fmt.Sprintf("1 to %.0f rules: iptables %s, ipset %s new/s", list[len(list)-1].x, ends(list), ends(set)),
		Realmgate: "sets come with chains (a later part)",
		Why:       fmt.Sprintf("iptables falls %.0f-fold, ipset %.2f-fold", fall(list), fall(set)),
	}
}

func judgeRuleLoad(e Evidence) Verdict {
	last := func(dut, metric string) point {
		points := e.sweep("rule-load-time", dut, metric, "rules")
		return points[len(points)-1]
	}
	list, set := last("iptables", "seconds_add"), last("ipset", "seconds_add")
	return Verdict{
		Holds: holds(list.y > 5*set.y),
		Netfilter: fmt.Sprintf("one more to %.0f: iptables %.2g s, ipset %.2g s; all at once: %.2g and %.2g s", list.x, list.y, set.y,
			last("iptables", "seconds").y, last("ipset", "seconds").y),
		Realmgate: "sets come with chains (a later part)",
		Why:       "as one transaction, which iptables has by now, they are alike",
	}
}

func judgeTCP(e Evidence) Verdict {
	rate := func(dut string, layer float64) float64 {
		return e.median("tcp-sessions", dut, "rate", at{"layer": layer})
	}
	routed, tracked, translated := rate("route", 1), rate("conntrack", 2), rate("iptables", 4)
	return Verdict{
		Holds:     holds(translated < 0.95*tracked && tracked < routed),
		Netfilter: fmt.Sprintf("sessions of ten packets: routed %s, tracked %s, translated %s/s", si(routed), si(tracked), si(translated)),
		Realmgate: fmt.Sprintf("translated %s/s", si(rate("realmgate", 4))),
		Why:       fmt.Sprintf("NAT leaves %.0f %% of what tracking does", 100*translated/tracked),
	}
}
