package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// What is called a steep fall, and what is called none.
const (
	steep = 5
	flat  = 1.3
)

// judgeTargets compares new connections by the control of each target, which were
// measured one after another, and new with known ones by their costs in one trial.
func judgeTargets(e Evidence) Verdict {
	fresh := map[string]figure{}
	for _, r := range e["targets"].Results {
		target, ok := strings.CutPrefix(r.Metric, "rate_")
		if ok && r.DUT == "iptables" && !strings.HasSuffix(target, "_reuse") && !math.IsNaN(float64(r.Median)) {
			fresh[target] = e.compared("targets", []bench.Result{r})[0]
		}
	}
	for _, target := range []string{"accept", "notrack", "dnat", "snat"} {
		e.result("targets", "iptables", "rate_"+target, nil) // or nothing can be said
	}
	var known, notrack, snat []Holds
	for target, f := range fresh {
		if target != "notrack" {
			known = append(known, e.reused("targets", "iptables", "rate_"+target).above(1))
			notrack = append(notrack, fresh["notrack"].by(f).above(1))
		}
		if !strings.Contains(target, "snat") {
			snat = append(snat, f.by(fresh["snat"]).above(1))
		}
	}
	rate := func(target string) string { return si(e.median("targets", "iptables", "rate_"+target, nil)) }
	return Verdict{
		Holds: together(every(known...), every(notrack...), every(snat...)),
		Netfilter: fmt.Sprintf("new: NOTRACK %s, ACCEPT %s, DNAT %s, SNAT %s packets/s", rate("notrack"), rate("accept"), rate("dnat"),
			rate("snat")),
		Realmgate: fmt.Sprintf("SNAT: new %s, known %s packets/s", si(e.median("targets", "realmgate", "rate_snat", nil)), si(e.median("targets", "realmgate", "rate_snat_reuse", nil))),
		Why: fmt.Sprintf("known faster than new: %s; NOTRACK fastest: %s; SNAT slower than all but SNAT with DNAT: %s; DNAT makes %s of SNAT's",
			every(known...), every(notrack...), every(snat...), fresh["dnat"].by(fresh["snat"])),
	}
}

// judgePosition compares the first rule with the last, and with the place up to
// which the authors advise to go.
func judgePosition(e Evidence) Verdict {
	list, rates := e.sweep("rule-position", "iptables", "rate", "position"), e.rates("rule-position", "iptables", "rate", "position")
	first := list[0]
	var early []Holds
	text := ""
	for _, p := range list {
		if p.x >= 100 && p.x <= 200 {
			early = append(early, first.by(p).above(1))
			text += fmt.Sprintf("the first makes %s of the rate of number %.0f; ", first.by(p), p.x)
		}
	}
	if len(early) == 0 {
		panic(absent("the report of rule-position has no rule from 100 to 200"))
	}
	a, b := rates[0], near(rates, 1000)
	return Verdict{
		Holds:     together(fall(list).above(2*steep), every(early...)),
		Netfilter: "first to last: " + ends(rates) + " new/s; a map of nftables " + ends(e.rates("rule-position", "nftables-set", "rate", "position")),
		Realmgate: "has no list: see Figure 31",
		Why:       fmt.Sprintf("%severy 100 rules up to number %.0f take %.0f ns, %.0f %% of what the first takes", text, b.x, 100*slope(a, b), 100*100*slope(a, b)*a.median/1e9),
	}
}

// slope is what a rule takes, in ns, from two rates.
func slope(a, b figure) float64 { return (1e9/b.median - 1e9/a.median) / (b.x - a.x) }

// leastPool is from which size on pools are compared: to smaller ones go fewer
// sessions.
const leastPool = 256

func judgeMarkDNAT(e Evidence) Verdict {
	falls := func(dut string) figure { return fall(pools(e.sweep("mark-dnat", dut, "rate", "pool"))) }
	rates := func(dut string) []figure { return pools(e.rates("mark-dnat", dut, "rate", "pool")) }
	list := rates("iptables")
	return Verdict{
		Holds:     together(falls("iptables").above(steep), falls("nftables-set").within(flat)),
		Netfilter: fmt.Sprintf("%.0f to %.0f addresses: rules %s, a map of nftables %s new/s", list[0].x, list[len(list)-1].x, ends(list), ends(rates("nftables-set"))),
		Realmgate: ends(rates("realmgate")) + " new/s",
		Why: fmt.Sprintf("the list falls %s-fold, the map %s-fold, Realmgate's pool %s-fold; the module itself is not in Linux",
			falls("iptables"), falls("nftables-set"), falls("realmgate")),
	}
}

// pools leaves out small pools, if enough remain.
func pools(points []figure) []figure {
	large := slices.DeleteFunc(slices.Clone(points), func(p figure) bool { return p.x < leastPool })
	if len(large) < 2 {
		return points
	}
	return large
}

// noHelp is below which gain queues are called no help.
const noHelp = 1.1

func judgeQueues(e Evidence) Verdict {
	where := func(queues, byCPU float64) at { return at{"queues": queues, "by_cpu": byCPU, "nat": 0} }
	points := e.compared("nfqueue", e.resultsAt("nfqueue", "nfqueue", "rate", where(1, 0), where(4, 0), where(8, 0), where(4, 1)))
	rate := func(queues, byCPU float64) string {
		return e.figure("nfqueue", "nfqueue", "rate", where(queues, byCPU)).String()
	}
	four, eight, spread := points[1], points[2], points[3]
	v := Verdict{
		Holds:     every(eight.by(four).below(noHelp), spread.by(four).below(noHelp)),
		Netfilter: fmt.Sprintf("1, 4, 8 queues: %s, %s, %s new/s; 4 by CPU: %s", rate(1, 0), rate(4, 0), rate(8, 0), rate(4, 1)),
		Realmgate: fmt.Sprintf("decides in the kernel: %s new/s", si(e.median("nfqueue", "realmgate", "rate", at{"queues": 1, "by_cpu": 0, "nat": 1}))),
		Why:       fmt.Sprintf("forwarding without NAT: eight make %s of four, four by CPU %s of four", eight.by(four), spread.by(four)),
	}
	if cpus := e["nfqueue"].Environment.CPUs; cpus > 0 && cpus <= 4 && v.Holds == Yes {
		v.Holds = Undecided
		v.Why += fmt.Sprintf("; but the tester fills one of %d CPUs, and what is left for the program bounds it: more queues have no CPU to run on", cpus)
	}
	return v
}

// arranged is what iptables makes of 65,536 rules in so many chains of so many levels.
func (e Evidence) arranged(places ...at) []figure {
	return e.compared("rule-arrangement", e.resultsAt("rule-arrangement", "iptables", "rate", places...))
}

func place(levels, chains float64) at { return at{"levels": levels, "chains": chains} }

// judgeLinear wants the rate to rise up to as many chains as rules in each. That it
// falls beyond is not measured.
func judgeLinear(e Evidence) Verdict {
	rate := func(chains float64) string {
		return si(e.median("rule-arrangement", "iptables", "rate", place(1, chains)))
	}
	hits := func(chains float64) float64 { return e.median("rule-arrangement", "model", "hits", place(1, chains)) }
	points := e.arranged(place(1, 1), place(1, 16), place(1, 256))
	rises := every(points[1].by(points[0]).above(1), points[2].by(points[1]).above(1))
	if rises == Yes {
		rises = Partly
	}
	return Verdict{
		Holds:     rises,
		Netfilter: fmt.Sprintf("1, 16, 256 chains: %s, %s, %s packets/s", rate(1), rate(16), rate(256)),
		Realmgate: "has no rules to arrange",
		Why: fmt.Sprintf("the model gives %.0f and %.0f look-ups; more chains than rules were not measured, so that what lies beyond is open",
			hits(1), hits(256)),
	}
}

func judgeNested(e Evidence) Verdict {
	p := e.arranged(place(1, 256), place(2, 256), place(3, 256), place(4, 256))
	rate := func(levels float64) string {
		return si(e.median("rule-arrangement", "iptables", "rate", place(levels, 256)))
	}
	hits := func(levels float64) float64 { return e.median("rule-arrangement", "model", "hits", place(levels, 256)) }
	return Verdict{
		Holds: together(every(p[1].by(p[0]).above(1), p[2].by(p[0]).above(1), p[3].by(p[0]).above(1)),
			every(p[2].by(p[1]).within(flat), p[3].by(p[1]).within(flat), p[3].by(p[2]).within(flat))),
		Netfilter: fmt.Sprintf("flat, 2, 3, 4 levels: %s, %s, %s, %s packets/s", rate(1), rate(2), rate(3), rate(4)),
		Realmgate: "has no rules to arrange",
		Why: fmt.Sprintf("of the flat one's rate they make %s, %s and %s; the model gives %.0f, %.0f and %.0f look-ups",
			p[1].by(p[0]), p[2].by(p[0]), p[3].by(p[0]), hits(2), hits(3), hits(4)),
	}
}
