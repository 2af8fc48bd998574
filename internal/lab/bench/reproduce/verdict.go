package reproduce

import "fmt"

var (
	deciding = Job{Name: "first-packet-verdict", Scenario: "first-packet-verdict", Repeat: 8}
	hops     = Job{Name: "chain-hops", Scenario: "chain-hops", Repeat: 20}
)

// Aims of chains.
const (
	timesDecided = 50
	mostInlined  = 2 // ns
	mostOwn      = 5
)

// verdicts compares under load, and with sessions that come one at a time.
func verdicts(e Evidence) shown {
	load, times := decidedBy(e, "verdict")
	alone, timesAlone := decidedBy(e, "verdict_alone")
	return shown{fmt.Sprintf("%s; one session at a time %s", load, alone), together(times, timesAlone)}
}

func decidedBy(e Evidence, metric string) (text string, met Holds) {
	ours, theirs := e.result(deciding.Name, "realmgate", metric, nil), e.result(deciding.Name, "nfqueue", metric, nil)
	of := func(dut string) string { return e.figure(deciding.Name, dut, metric, nil).in(" ns", whole) }
	text = fmt.Sprintf("Realmgate %s, nfqueue %s", of("realmgate"), of("nfqueue"))
	q, ok := paired(theirs, ours)
	if !ok || ours.Unresolved != "" {
		return text, Undecided
	}
	return fmt.Sprintf("%s: %s times cheaper", text, q.in("", tenths)), q.above(timesDecided)
}

// hopBelow is of a chain of 8.
func hopBelow(metric string, most float64) func(Evidence) shown {
	return func(e Evidence) shown {
		hop := e.figure(hops.Name, "realmgate", metric, at{"functions": 8})
		return shown{hop.in(" ns", hundredths), hop.below(most)}
	}
}
