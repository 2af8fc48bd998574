package reproduce

import (
	"fmt"
	"math"
)

func judgeMarkDNAT(e Evidence) Verdict {
	list := e.sweep("mark-dnat", "iptables", "rate", "pool")
	constant, ours := e.sweep("mark-dnat", "nftables-set", "rate", "pool"), e.sweep("mark-dnat", "realmgate", "rate", "pool")
	last := len(list) - 1
	return Verdict{
		Holds:     holds(fall(list) > 5 && fall(constant) < 1.3),
		Netfilter: fmt.Sprintf("1 to %.0f addresses: rules %s, a map of nftables %s new/s", list[last].x, ends(list), ends(constant)),
		Realmgate: ends(ours) + " new/s",
		Why:       fmt.Sprintf("the list falls %.0f-fold, the map %.2f-fold, Realmgate's pool %.2f-fold; the module itself is not in Linux", fall(list), fall(constant), fall(ours)),
	}
}

func judgeQueues(e Evidence) Verdict {
	rate := func(queues, byCPU float64) float64 {
		return e.median("nfqueue", "nfqueue", "rate", at{"queues": queues, "by_cpu": byCPU, "nat": 0})
	}
	one, four, eight, spread := rate(1, 0), rate(4, 0), rate(8, 0), rate(4, 1)
	return Verdict{
		Holds:     holds(eight < 1.2*four && spread < 1.2*four),
		Netfilter: fmt.Sprintf("1, 4, 8 queues: %s, %s, %s new/s; 4 by CPU: %s", si(one), si(four), si(eight), si(spread)),
		Realmgate: fmt.Sprintf("decides in the kernel: %s new/s", si(e.median("nfqueue", "realmgate", "rate", at{"queues": 1, "by_cpu": 0, "nat": 1}))),
		Why:       "forwarding without NAT",
	}
}

// arranged is the rate of iptables with 65,536 rules in so many levels and chains.
func (e Evidence) arranged(levels, chains float64) float64 {
	return e.arrangedMetric("iptables", "rate", levels, chains)
}

func (e Evidence) arrangedMetric(dut, metric string, levels, chains float64) float64 {
	for _, r := range e["rule-arrangement"].Results {
		if r.DUT == dut && r.Metric == metric && r.Parameters["levels"] == levels && r.Parameters["chains"] == chains && !math.IsNaN(float64(r.Median)) {
			return float64(r.Median)
		}
	}
	panic(absent(fmt.Sprintf("the report of rule-arrangement has no %s of %s for %g levels and %g chains", metric, dut, levels, chains)))
}

func judgeLinear(e Evidence) Verdict {
	one, sixteen, many := e.arranged(1, 1), e.arranged(1, 16), e.arranged(1, 256)
	return Verdict{
		Holds:     holds(many > sixteen && sixteen > one),
		Netfilter: fmt.Sprintf("1, 16, 256 chains: %s, %s, %s packets/s", si(one), si(sixteen), si(many)),
		Realmgate: "has no rules to arrange",
		Why: fmt.Sprintf("the model gives %.0f and %.0f look-ups", e.arrangedMetric("model", "hits", 1, 1),
			e.arrangedMetric("model", "hits", 1, 256)),
	}
}

func judgeNested(e Evidence) Verdict {
	flat, two, three, four := e.arranged(1, 256), e.arranged(2, 256), e.arranged(3, 256), e.arranged(4, 256)
	return Verdict{
		Holds:     holds(two > flat && max(two, three, four) < 1.3*min(two, three, four)),
		Netfilter: fmt.Sprintf("flat, 2, 3, 4 levels: %s, %s, %s, %s packets/s", si(flat), si(two), si(three), si(four)),
		Realmgate: "has no rules to arrange",
		Why: fmt.Sprintf("the model gives %.0f, %.0f and %.0f look-ups", e.arrangedMetric("model", "hits", 2, 256),
			e.arrangedMetric("model", "hits", 3, 256), e.arrangedMetric("model", "hits", 4, 256)),
	}
}

func judgePinning(e Evidence) Verdict {
	free, pinned := e.median("cpu-pinning", "conntrack", "rate_reuse", at{"pinned": 0}), e.median("cpu-pinning", "conntrack", "rate_reuse", at{"pinned": 1})
	return Verdict{
		Holds:     holds(pinned > free),
		Netfilter: fmt.Sprintf("known: not pinned %s, pinned %s packets/s", si(free), si(pinned)),
		Realmgate: fmt.Sprintf("%s, %s packets/s", si(e.median("cpu-pinning", "realmgate", "rate_reuse", at{"pinned": 0})), si(e.median("cpu-pinning", "realmgate", "rate_reuse", at{"pinned": 1}))),
	}
}
