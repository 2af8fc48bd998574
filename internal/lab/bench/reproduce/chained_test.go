package reproduce

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

// measuredChain is what figure 7.2 shows, or another last phase.
func measuredChain(last float64) demo.Measured {
	flow := func(port uint16) demo.Flow {
		f := demo.Flow{Port: port, Host: netip.MustParseAddr("10.0.0.100"), Rates: []float64{50e6, 150e6, last}}
		for n, rate := range []float64{50e6, 150e6, 100e6} {
			f.Phases = append(f.Phases, demo.Phase{Rate: rate, Sent: 1, SentRate: rate, ArrivedRate: f.Rates[n]})
		}
		return f
	}
	usage := demo.Usage{Rates: [2]float64{4e8, 4e8}, CPU: 50, Packet: 1e-5, Memory: 1000}
	return demo.Measured{
		Every: 10, Flows: []demo.Flow{flow(53), flow(123)}, Shown: last == 0, Chains: 100_000,
		Rounds: []demo.Round{{Idle: usage, Routing: usage, Chain: usage}, {Idle: usage, Routing: usage, Chain: usage}},
	}
}

// Hanna's findings are judged by what the demo measured.
func TestChainIsJudged(t *testing.T) {
	for last, want := range map[float64][]Holds{
		0:    {Yes, Yes, Unknown, Yes},
		50e6: {No, Yes, Unknown, Yes},
	} {
		papers := Papers()
		findings := papers[len(papers)-1].Findings
		for i, f := range findings {
			v := f.Judged(Evidence{"chaining": ChainReport(measuredChain(last))})
			if v.Holds != want[i] || v.Realmgate == "" && v.Holds != Unknown || v.Why == "" {
				t.Errorf("%s with %g bit/s at the end: %+v, want %s", f.Item, last, v, want[i])
			}
		}
	}
}
