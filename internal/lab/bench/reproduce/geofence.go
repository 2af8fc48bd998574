package reproduce

import "fmt"

func geofence() Paper {
	return Paper{
		Name:     "Lorenzoni, Caprini and Guastella 2022, ipt_geofence – Performance Evaluation",
		Hardware: "Core i7-8750H, 16 GB, 10^5 one-packet connections by tcpreplay",
		Figures:  "Its figures are designs, a set-up and a sketch of how packets wait: what it measured is in tables, of which the sweep is drawn.",
		Findings: []Finding{
			{
				Item: "Table 1", Needs: []Job{queue, protecting},
				Claim: "A verdict in user space for each new connection bounds them to tens of thousands a second.",
				Then:  "15.96 µs each, 62.6k/s",
				Judge: judgeVerdict,
			},
			{
				Item: "the sweep", Needs: []Job{queue, protecting},
				Claim: "Offered more, it takes no more: 60k of 70k and 80k, but 78k of 90k and 81k of 100k.",
				Then:  "the last two contradict the first",
				Judge: judgeSweep,
			},
		},
	}
}

// mostVerdicts is more than tens of thousands.
const mostVerdicts = 100e3

// judgeVerdict is about the rate without NAT, as the authors measured. The program here
// looks nothing up: where it is faster than theirs, that refutes nothing. Costs of both
// devices are of one comparison, which translates, and without the tester.
func judgeVerdict(e Evidence) Verdict {
	queued := e.figure("nfqueue", "nfqueue", "rate", at{"queues": 1, "by_cpu": 0, "nat": 0})
	cost := func(dut string) string { return e.figure(protecting.Name, dut, "cost", nil).in(" ns", whole) }
	v := Verdict{
		Holds:     queued.below(mostVerdicts),
		Netfilter: fmt.Sprintf("without NAT %.1f µs each, %s/s; with NAT, and without the tester, %s", 1e6/queued.median, queued, cost("nfqueue")),
		Realmgate: fmt.Sprintf("with NAT, and without the tester, %s, of which geofence, blocklist and honeypot take %s", cost("realmgate"),
			e.figure(protecting.Name, "realmgate", "verdict", nil).in(" ns", whole)),
		Why: "the program passes all and looks nothing up",
	}
	if v.Holds == No {
		v.Holds = Undecided
		v.Why += ": what ipt_geofence's look-ups take comes on top"
	}
	return v
}

// mostPassed is the share of what is offered from which on all is called to pass.
const mostPassed = 0.95

// judgeSweep asks whether the program is at its end at the highest rate offered.
func judgeSweep(e Evidence) Verdict {
	passed, drops := e.rates("nfqueue", "nfqueue", "passed", "offered"), e.rates("nfqueue", "nfqueue", "queue_drops", "offered")
	last := passed[len(passed)-1]
	return Verdict{
		Holds:     last.below(mostPassed * last.x),
		Netfilter: fmt.Sprintf("%s offered: %s pass, the queue drops %.1f %%", si(last.x), last, drops[len(drops)-1].median),
		Realmgate: fmt.Sprintf("%s of %s pass, %.3f %% are lost", si(e.median(protecting.Name, "realmgate", "passed", at{"offered": last.x})), si(last.x),
			e.median(protecting.Name, "realmgate", "loss", at{"offered": last.x})),
		Why: fmt.Sprintf("at %s offered %s pass and the queue drops %.1f %%; the program looks nothing up", si(passed[0].x), passed[0], drops[0].median),
	}
}
