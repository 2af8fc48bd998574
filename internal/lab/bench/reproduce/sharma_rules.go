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

// judgeTargets compares targets, and new with known connections, by their costs in the
// same rounds.
func judgeTargets(e Evidence) Verdict {
	fresh := map[string]bench.Result{}
	for _, r := range e["targets"].Results {
		target, ok := strings.CutPrefix(r.Metric, "rate_")
		if ok && r.DUT == "iptables" && !strings.HasSuffix(target, "_reuse") && !math.IsNaN(float64(r.Median)) {
			fresh[target] = r
		}
	}
	for _, target := range []string{"accept", "notrack", "dnat", "snat"} {
		e.result("targets", "iptables", "rate_"+target, nil) // or nothing can be said
	}
	speed := func(a, b string) figure { return e.takes("targets", fresh[b], fresh[a]) }
	var known, notrack, snat []Holds
	for target := range fresh {
		if target != "notrack" {
			known = append(known, e.reused("targets", "iptables", "rate_"+target).above(1))
			notrack = append(notrack, speed("notrack", target).above(1))
		}
		if !strings.Contains(target, "snat") {
			snat = append(snat, speed(target, "snat").above(1))
		}
	}
	rate := func(target string) string { return si(e.median("targets", "iptables", "rate_"+target, nil)) }
	return Verdict{
		Holds: together(every(known...), every(notrack...), every(snat...)),
		Netfilter: fmt.Sprintf("new: NOTRACK %s, ACCEPT %s, DNAT %s, SNAT %s packets/s", rate("notrack"), rate("accept"), rate("dnat"),
			rate("snat")),
		Realmgate: fmt.Sprintf("SNAT: new %s, known %s packets/s", si(e.median("targets", "realmgate", "rate_snat", nil)), si(e.median("targets", "realmgate", "rate_snat_reuse", nil))),
		Why: fmt.Sprintf("known faster than new: %s; NOTRACK fastest: %s; SNAT slower than all but SNAT with DNAT: %s; DNAT has %s of SNAT's speed",
			every(known...), every(notrack...), every(snat...), speed("dnat", "snat")),
	}
}

// judgePosition compares the first rule with the last, and with the place up to
// which the authors advise to go.
func judgePosition(e Evidence) Verdict {
	c, rates := e.curve("rule-position", "iptables", "rate", "position"), e.rates("rule-position", "iptables", "rate", "position")
	var early []Holds
	text := ""
	for _, p := range c.points {
		if x := c.x(p); x >= 100 && x <= 200 {
			early = append(early, c.slower(c.first(), p).above(1))
			text += fmt.Sprintf("number %.0f costs %s times as much as the first; ", x, c.slower(c.first(), p))
		}
	}
	if len(early) == 0 {
		panic(absent("the report of rule-position has no rule from 100 to 200"))
	}
	thousandth := c.near(1000)
	a, b := rates[0], e.figure("rule-position", "iptables", "rate", thousandth.Parameters)
	b.x = c.x(thousandth)
	return Verdict{
		Holds:     together(c.fall().above(2*steep), every(early...)),
		Netfilter: "first to last: " + ends(rates) + " new/s; a map of nftables " + ends(e.rates("rule-position", "nftables-set", "rate", "position")),
		Realmgate: "which of 65,536 destinations may be reached: " + e.told("rule-position", "rate", "position", " new/s"),
		Why:       fmt.Sprintf("%severy 100 rules up to number %.0f take %.0f ns, %.0f %% of what the first takes", text, b.x, 100*slope(a, b), 100*100*slope(a, b)*a.median/1e9),
	}
}

// slope is what a rule takes, in ns, from two rates.
func slope(a, b figure) float64 { return (1e9/b.median - 1e9/a.median) / (b.x - a.x) }

// leastPool is from which size on pools are compared: to smaller ones go fewer
// sessions.
const leastPool = 256

func judgeMarkDNAT(e Evidence) Verdict {
	falls := func(dut string) figure {
		c := e.curve("mark-dnat", dut, "rate", "pool")
		c.points = pools(c)
		return c.fall()
	}
	rates := func(dut string) (points []figure) {
		c := e.curve("mark-dnat", dut, "rate", "pool")
		for _, r := range pools(c) {
			f := e.figure("mark-dnat", dut, "rate", r.Parameters)
			f.x = c.x(r)
			points = append(points, f)
		}
		return points
	}
	list := rates("iptables")
	return Verdict{
		Holds:     together(falls("iptables").above(steep), falls("nftables-set").within(flat)),
		Netfilter: fmt.Sprintf("%.0f to %.0f addresses: rules %s, a map of nftables %s new/s", list[0].x, list[len(list)-1].x, ends(list), ends(rates("nftables-set"))),
		Realmgate: ends(rates("realmgate")) + " new/s",
		Why: fmt.Sprintf("a new session costs %s times as much with the longest list, %s times with the map, %s times with Realmgate's pool; the module itself is not in Linux",
			falls("iptables"), falls("nftables-set"), falls("realmgate")),
	}
}

// pools leaves out small pools, if enough remain.
func pools(c curve) []bench.Result {
	large := slices.DeleteFunc(slices.Clone(c.points), func(r bench.Result) bool { return c.x(r) < leastPool })
	if len(large) < 2 {
		return c.points
	}
	return large
}

// noHelp is below which gain queues are called no help.
const noHelp = 1.1

func judgeQueues(e Evidence) Verdict {
	where := func(queues, byCPU float64) at { return at{"queues": queues, "by_cpu": byCPU, "nat": 0} }
	speed := func(a, b at) figure {
		return e.takes("nfqueue", e.result("nfqueue", "nfqueue", "rate", b), e.result("nfqueue", "nfqueue", "rate", a))
	}
	rate := func(queues, byCPU float64) string {
		return e.figure("nfqueue", "nfqueue", "rate", where(queues, byCPU)).String()
	}
	eight, spread := speed(where(8, 0), where(4, 0)), speed(where(4, 1), where(4, 0))
	v := Verdict{
		Holds:     every(eight.below(noHelp), spread.below(noHelp)),
		Netfilter: fmt.Sprintf("1, 4, 8 queues: %s, %s, %s new/s; 4 by CPU: %s", rate(1, 0), rate(4, 0), rate(8, 0), rate(4, 1)),
		Realmgate: fmt.Sprintf("decides in the kernel: %s new/s", si(e.median("nfqueue", "realmgate", "rate", at{"queues": 1, "by_cpu": 0, "nat": 1}))),
		Why:       fmt.Sprintf("forwarding without NAT: eight have %s of the speed of four, four by CPU %s", eight, spread),
	}
	if cpus := e["nfqueue"].Environment.CPUs; cpus > 0 && cpus <= 4 && v.Holds == Yes {
		v.Holds = Undecided
		v.Why += fmt.Sprintf("; but the tester fills one of %d CPUs, and what is left for the program bounds it: more queues have no CPU to run on", cpus)
	}
	return v
}

// arranged is by which factor one arrangement of 65,536 rules in iptables is faster than another.
func (e Evidence) arranged(a, b at) figure {
	const job = "rule-arrangement"
	return e.takes(job, e.result(job, "iptables", "rate", b), e.result(job, "iptables", "rate", a))
}

func place(levels, chains float64) at { return at{"levels": levels, "chains": chains} }

// judgeLinear wants the rate to rise up to as many chains as rules in each. That it
// falls beyond is not measured.
func judgeLinear(e Evidence) Verdict {
	rate := func(chains float64) string {
		return si(e.median("rule-arrangement", "iptables", "rate", place(1, chains)))
	}
	hits := func(chains float64) float64 { return e.median("rule-arrangement", "model", "hits", place(1, chains)) }
	rises := every(e.arranged(place(1, 16), place(1, 1)).above(1), e.arranged(place(1, 256), place(1, 16)).above(1))
	if rises == Yes {
		rises = Partly
	}
	return Verdict{
		Holds:     rises,
		Netfilter: fmt.Sprintf("1, 16, 256 chains: %s, %s, %s packets/s", rate(1), rate(16), rate(256)),
		Realmgate: e.compiled(),
		Why: fmt.Sprintf("the model gives %.0f and %.0f look-ups; more chains than rules were not measured, so that what lies beyond is open",
			hits(1), hits(256)),
	}
}

func judgeNested(e Evidence) Verdict {
	faster := func(levels, than float64) figure { return e.arranged(place(levels, 256), place(than, 256)) }
	rate := func(levels float64) string {
		return si(e.median("rule-arrangement", "iptables", "rate", place(levels, 256)))
	}
	hits := func(levels float64) float64 { return e.median("rule-arrangement", "model", "hits", place(levels, 256)) }
	return Verdict{
		Holds: together(every(faster(2, 1).above(1), faster(3, 1).above(1), faster(4, 1).above(1)),
			every(faster(3, 2).within(flat), faster(4, 2).within(flat), faster(4, 3).within(flat))),
		Netfilter: fmt.Sprintf("flat, 2, 3, 4 levels: %s, %s, %s, %s packets/s", rate(1), rate(2), rate(3), rate(4)),
		Realmgate: e.compiled(),
		Why: fmt.Sprintf("of the flat one's speed they have %s, %s and %s, by cost in the same rounds; the model gives %.0f, %.0f and %.0f look-ups",
			faster(2, 1), faster(3, 1), faster(4, 1), hits(2), hits(3), hits(4)),
	}
}

// compiled is what Realmgate makes of the same rules, which its compiler arranges.
func (e Evidence) compiled() string {
	text := ""
	for _, by := range [][2]string{{"realmgate", "rules"}, {"realmgate-set", "sets"}} {
		if r, ok := e.find("rule-arrangement", by[0], "rate", place(1, 256)); ok {
			text += fmt.Sprintf("; as %s %s", by[1], si(float64(r.Median)))
		}
	}
	if text == "" {
		return "not measured"
	}
	return "arranged by its compiler" + text + " new/s, translated"
}
