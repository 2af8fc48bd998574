package reproduce

import (
	"fmt"
	"io"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

// ChainScenario is the experiment that the program's demo makes, and no scenario of the
// tester's.
const ChainScenario = "demo chain"

var chaining = Job{Name: "chaining", Scenario: ChainScenario, Devices: []string{"realmgate", "route"}}

func hanna() Paper {
	return Paper{
		Name:     "Hanna 2017, Lightweight Network Function Chaining Mechanism in Linux Kernel",
		Hardware: "Xeon X5690, KVM guests of 4 CPUs, Linux 4.4, virtio",
		Figures:  "Figures 7.1 and 7.4 are set-ups, and those of the chapters before are designs.",
		Findings: []Finding{
			{
				Item: "Figure 7.2", Needs: []Job{chaining},
				Claim: "Two flows above a threshold are cut off, and each goes to its host.",
				Then:  "50, 150, then 0 Mbit/s",
				Judge: judgeDenial,
			},
			{
				Item: "Table 7.3", Needs: []Job{chaining},
				Claim: "A chain takes 180 KB of memory and no CPU time that shows.",
				Then:  "766,664 KB idle, 766,844 KB at work; 0 % of the CPUs in both",
				Judge: judgeUse,
			},
			{
				Item: "Figure 7.3", Needs: []Job{chaining},
				Claim: "Idle and at work, tasks stay on the CPU for 2,048 to 4,095 µs most often; at work about twice as many as idle.",
				Then:  "a histogram without numbers",
				Judge: judgeSwitches,
			},
			{
				Item: "Table 7.4", Needs: []Job{chaining},
				Claim: "Chained flows are nearly as fast as routed ones.",
				Then:  "797 and 800 against 801.6 and 804 (printed as Kbps; at 1 Gbit/s offered, Mbit/s is meant)",
				Judge: judgeChained,
			},
		},
	}
}

// asSent is the share of what is sent from which on it is called to pass, and nothing
// the share up to which it is not: that of the time before a window begins.
const (
	asSent  = 0.99
	nothing = 0.02
)

func judgeDenial(e Evidence) Verdict {
	v := Verdict{Holds: Yes}
	for _, flow := range []string{"1", "2"} {
		text := "flow " + flow + ":"
		for _, r := range e.swept(chaining.Name, "realmgate", "flow"+flow, "phase") {
			share := float64(r.Median) / e.median(chaining.Name, "realmgate", "sent"+flow, r.Parameters)
			if last := r.Parameters["phase"] == 3; last && share > nothing || !last && share < asSent {
				v.Holds = No
			}
			text += fmt.Sprintf(" %.1f", float64(r.Median)/1e6)
		}
		if v.Realmgate != "" {
			v.Realmgate += "; "
		}
		v.Realmgate += text
	}
	v.Realmgate += " Mbit/s; 50, 150 and 100 were to be sent"
	v.Why = "[over time](chaining.svg); what passes in the last phase came before the window of the phase before was over"
	return v
}

// noCPU is the share of all CPUs, in per cent, that is called not to show.
const noCPU = 1

func judgeUse(e Evidence) Verdict {
	median := func(dut, metric string) float64 { return e.median(chaining.Name, dut, metric, nil) }
	extra := e.ratio(chaining.Name, "realmgate", "route", "cpu_packet", nil)
	return Verdict{
		Holds: together(holds(median("realmgate", "memory_chains") <= 180*1024), holds(median("realmgate", "cpu")-median("realmgate", "cpu_idle") < noCPU)),
		Netfilter: fmt.Sprintf("routing: %.0f KB in use, %.0f %% of the CPUs, %.1f µs a packet", median("route", "memory")/1024, median("route", "cpu"),
			median("route", "cpu_packet")/1e3),
		Realmgate: fmt.Sprintf("both chains: %.0f KB of programs and tables; %.0f KB in use idle, %.0f at work; CPUs %.0f and %.0f %%, %.1f µs a packet",
			median("realmgate", "memory_chains")/1024, median("realmgate", "memory_idle")/1024, median("realmgate", "memory")/1024,
			median("realmgate", "cpu_idle"), median("realmgate", "cpu"), median("realmgate", "cpu_packet")/1e3),
		Why: fmt.Sprintf("the machine had other work, as idle shows, and sender and hosts are on it and take what CPUs there are; a packet through the chains takes %s of the CPU time of a routed one, both ends with it",
			extra.in("", hundredths)),
	}
}

func judgeChained(e Evidence) Verdict {
	const nearly = 1.05
	first, second := e.ratio(chaining.Name, "realmgate", "route", "load1", nil), e.ratio(chaining.Name, "realmgate", "route", "load2", nil)
	rates := func(dut string) string {
		return fmt.Sprintf("%.0f and %.0f Mbit/s", e.median(chaining.Name, dut, "load1", nil)/1e6, e.median(chaining.Name, dut, "load2", nil)/1e6)
	}
	return Verdict{
		Holds: every(first.above(1/nearly), second.above(1/nearly)), Netfilter: "routing: " + rates("route"), Realmgate: rates("realmgate"),
		Why: fmt.Sprintf("%s and %s of the routed rates, with senders and hosts on the same CPUs; a redirect from veth to veth takes each packet out of the kernel's buffer and makes another behind it, which frames of a network card do not need", first.in("", hundredths), second.in("", hundredths)),
	}
}

func hundredths(v float64) string { return fmt.Sprintf("%.2f", v) }

// PlotChain draws what arrived of both flows over time, as SVG.
func PlotChain(w io.Writer, r bench.Report) error {
	const what = "throughput at the hosts"
	drawn := bench.Report{Scenario: "Two flows through chains of dos-denial and dnat"}
	for _, s := range r.Series {
		s.DUT, s.Plot = s.Plot, what
		drawn.Devices = append(drawn.Devices, s.DUT)
		drawn.Series = append(drawn.Series, s)
	}
	return report.SVG(w, drawn, what)
}
