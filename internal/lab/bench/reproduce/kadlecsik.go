package reproduce

import "fmt"

var (
	tcp       = Job{Name: "tcp-sessions", Scenario: "tcp-sessions", Devices: []string{"realmgate", "iptables", "nftables", "conntrack", "route"}, Sessions: 100_000, Repeat: 3}
	offered   = Job{Name: "tcp-offered", Scenario: "tcp-offered", Repeat: 2}
	tracking  = Job{Name: "conntrack", Scenario: "conntrack", Sessions: 1_000_000, Repeat: 5}
	filtering = Job{Name: "filter", Scenario: "filter", Sessions: 1_000_000, Repeat: 5}
	ruleCount = Job{Name: "rule-count", Scenario: "rule-count", Repeat: 3}
	ruleLoad  = Job{Name: "rule-load-time", Scenario: "rule-load-time", Repeat: 3}
)

func kadlecsik() Paper {
	return Paper{
		Name:     "Kadlecsik and Pásztor, Netfilter Performance Testing",
		Hardware: "two Opterons of 2.2 GHz, 4 GB, 1 GbE, Linux 2.6.11, TCP sessions of about 10 packets",
		Figures: "Figures 3 and 4 are 5 and 6 on another processor, kernels and drivers, of which there is one each here: they are not drawn. " +
			"Nor is 16, which is 15 in packets: a session has about ten there and one here. Figures 1 and 2 are the set-up. nf-hipac is not in Linux.",
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
				Item: "Figures 3 to 13, as curves", Needs: []Job{offered},
				Claim: "Replies follow the connections that are opened up to a breaking point, which comes earlier with tracking, rules and NAT.",
				Then:  "5,000 to 50,000 offered: routing breaks at about 55k, tracking at 25k, NAT at 20k",
				Judge: judgeOffered,
			},
			{
				Item: "Figure 14", Needs: []Job{teardown, manyIptables, manyNftables, manyRealmgate},
				Claim: "Millions of connections at one time are no problem.",
				Then:  "3.5 M",
				Judge: judgeMany,
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
	rate := func(dut, metric string) string { return si(e.median("conntrack", dut, metric, nil)) }
	fresh, known := e.faster("conntrack", "conntrack", "route", "rate", nil), e.faster("conntrack", "conntrack", "route", "rate_reuse", nil)
	return Verdict{
		Holds: together(fresh.below(0.75), known.below(0.75)),
		Netfilter: fmt.Sprintf("new: routed %s, tracked %s/s; known: %s, %s packets/s", rate("route", "rate"), rate("conntrack", "rate"),
			rate("route", "rate_reuse"), rate("conntrack", "rate_reuse")),
		Realmgate: "always translates: see Table VII of Lencse and Shima",
		Why: fmt.Sprintf("by cost, routing takes %s of what tracking takes for new and %s for known connections; in rate, the tester with it, %s and %s are left", fresh, known,
			e.ratio("conntrack", "conntrack", "route", "rate", nil), e.ratio("conntrack", "conntrack", "route", "rate_reuse", nil)),
	}
}

func judgeFiltering(e Evidence) Verdict {
	rate := func(dut, metric string) string { return si(e.median("filter", dut, metric, nil)) }
	fresh, known := e.faster("filter", "iptables", "conntrack", "rate", nil), e.faster("filter", "iptables", "conntrack", "rate_reuse", nil)
	return Verdict{
		Holds: every(fresh.above(0.85), known.above(0.85)),
		Netfilter: fmt.Sprintf("tracked, ten rules too: new %s, %s/s; known %s, %s packets/s", rate("conntrack", "rate"), rate("iptables", "rate"),
			rate("conntrack", "rate_reuse"), rate("iptables", "rate_reuse")),
		Realmgate: realmgateFilters(e),
		Why:       fmt.Sprintf("by cost, tracking alone takes %s of what it takes with ten rules for new and %s for known connections", fresh, known),
	}
}

func judgeRuleCount(e Evidence) Verdict {
	list, set := e.rates("rule-count", "iptables", "rate", "rules"), e.rates("rule-count", "ipset", "rate", "rules")
	listFall, setFall := e.curve("rule-count", "iptables", "rate", "rules").fall(), e.curve("rule-count", "ipset", "rate", "rules").fall()
	last := len(list) - 1
	return Verdict{
		Holds:     together(listFall.above(steep), setFall.within(flat)),
		Netfilter: fmt.Sprintf("1 to %.0f rules: iptables %s, ipset %s new/s", list[last].x, ends(list), ends(set)),
		Realmgate: e.told("rule-count", "rate", "rules", " new/s"),
		Why: fmt.Sprintf("a new session costs iptables %s times as much, ipset %s times; a rule takes iptables %.2g ns, an entry ipset %.2g ns", listFall, setFall,
			slope(list[0], list[last]), slope(set[0], set[last])),
	}
}

// judgeRuleLoad is about the time of one more rule: loading all at once, which both
// can do by now, is not what was found slow.
func judgeRuleLoad(e Evidence) Verdict {
	last := func(dut, metric string) figure {
		points := e.rates("rule-load-time", dut, metric, "rules")
		return points[len(points)-1]
	}
	first := e.rates("rule-load-time", "iptables", "seconds_add", "rules")[0]
	list, set := last("iptables", "seconds_add"), last("ipset", "seconds_add")
	return Verdict{
		Holds: list.by(set).above(steep),
		Netfilter: fmt.Sprintf("one more to %.0f: iptables %.2g s, ipset %.2g s; all at once: %.2g and %.2g s", list.x, list.median, set.median,
			last("iptables", "seconds").median, last("ipset", "seconds").median),
		Realmgate: realmgateLoads(e),
		Why: fmt.Sprintf("iptables takes %s times as long; each 1,000 rules that are there add %.2g ms to it", list.by(set),
			1e6*(list.median-first.median)/(list.x-first.x)),
	}
}

// judgeTCP compares iptables that filters with iptables that translates too.
func judgeTCP(e Evidence) Verdict {
	layer := func(number float64) at { return at{"layer": number} }
	rate := func(dut string, number float64) string {
		return si(e.median("tcp-sessions", dut, "rate", layer(number)))
	}
	left := e.takes("tcp-sessions", e.result("tcp-sessions", "iptables", "rate", layer(3)), e.result("tcp-sessions", "iptables", "rate", layer(4)))
	return Verdict{
		Holds: left.below(1),
		Netfilter: fmt.Sprintf("sessions of ten packets: routed %s, tracked %s, filtered %s, translated %s/s", rate("route", 1), rate("conntrack", 2),
			rate("iptables", 3), rate("iptables", 4)) + pages(e, "iptables", "nftables"),
		Realmgate: fmt.Sprintf("translated %s/s", rate("realmgate", 4)) + pages(e, "realmgate", e["tcp-sessions"].Control),
		Why:       fmt.Sprintf("by cost, a session that is only filtered takes %s of one that is translated too", left),
	}
}

// pages is what a real client fetches from a real server through each device, which is
// the nearest to what the authors did; nothing where the report has none.
func pages(e Evidence, devices ...string) (text string) {
	for _, dut := range devices {
		if r, ok := e.find("tcp-sessions", dut, "pages", nil); ok {
			text += fmt.Sprintf(", %s %s", dut, si(float64(r.Median)))
		}
	}
	if text != "" {
		text = "; pages by wrk and nginx:" + text[1:] + "/s"
	}
	return text
}

// realmgateFilters is what ten rules of a filter leave, with NAT, which is always there.
func realmgateFilters(e Evidence) string {
	fresh, ok := e.find("filter", "realmgate", "rate", nil)
	known, too := e.find("filter", "realmgate", "rate_reuse", nil)
	if !ok || !too {
		return "not measured"
	}
	return fmt.Sprintf("translated, ten rules too: new %s/s; known %s packets/s", si(float64(fresh.Median)), si(float64(known.Median)))
}

// realmgateLoads is a reload with the most rules, and one after a change of one.
func realmgateLoads(e Evidence) string {
	text := ""
	for _, dut := range []string{"realmgate", "realmgate-set"} {
		all, more := e.points("rule-load-time", dut, "seconds", "rules"), e.points("rule-load-time", dut, "seconds_add", "rules")
		if len(all) == 0 || len(more) == 0 {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%s: one more to %.0f by a reload %.2g s, all at once %.2g s", dut, all[len(all)-1].Parameters["rules"],
			float64(more[len(more)-1].Median), float64(all[len(all)-1].Median))
	}
	if text == "" {
		return "not measured"
	}
	return text
}

// breakingPoint is the highest rate of connections at which a device gives nearly as many
// replies; beyond says that it is the highest that was offered.
func (e Evidence) breakingPoint(dut string, layer float64) (rate float64, beyond bool) {
	points := e.points("tcp-offered", dut, "replies", "offered")
	for _, r := range points {
		if r.Parameters["layer"] != layer {
			continue
		}
		if x := r.Parameters["offered"]; float64(r.Median) >= mostPassed*x {
			rate, beyond = x, true
		} else {
			beyond = false
		}
	}
	if rate == 0 {
		panic(absent(fmt.Sprintf("the report of tcp-offered has no rate at which %s replies to all in layer %g", dut, layer)))
	}
	return rate, beyond
}

// judgeOffered compares routing and NAT.
func judgeOffered(e Evidence) Verdict {
	text := func(dut string, layer float64) string {
		rate, beyond := e.breakingPoint(dut, layer)
		if beyond {
			return "beyond " + si(rate)
		}
		return si(rate)
	}
	routed, beyond := e.breakingPoint("route", 1)
	translated, beyondToo := e.breakingPoint("iptables", 4)
	v := Verdict{
		Holds: holds(translated < routed && !beyondToo),
		Netfilter: fmt.Sprintf("replies follow up to: routed %s, tracked %s, filtered %s, translated %s (nftables %s) connections/s", text("route", 1), text("conntrack", 2),
			text("iptables", 3), text("iptables", 4), text("nftables", 4)),
		Realmgate: "translated " + text("realmgate", 4) + " connections/s",
		Why:       fmt.Sprintf("replies are to follow as long as %.0f %% come", 100*mostPassed),
	}
	if beyond && beyondToo {
		v.Holds, v.Why = Undecided, "neither breaks at what was offered"
	}
	return v
}
