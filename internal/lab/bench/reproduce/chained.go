package reproduce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/demo"
)

// MeasureChain makes the experiment of ChainScenario. Like the demo it needs root and takes about a minute and a half.
func MeasureChain(ctx context.Context) (bench.Report, error) {
	var told strings.Builder
	started := time.Now().UTC()
	m, err := demo.RunChain(ctx, demo.ChainOptions{Out: &told})
	if errors.Is(err, demo.ErrNotRoot) {
		return bench.Report{}, bench.ErrNotRoot
	}
	if err != nil {
		return bench.Report{}, err
	}
	r := ChainReport(m)
	r.Started, r.Seconds = started, time.Since(started).Seconds()
	r.Environment, err = bench.ReadEnvironment()
	return r, err
}

// ChainReport is the experiment in the form of all reports, without when and where it was made.
func ChainReport(m demo.Measured) bench.Report {
	seen := len(m.Rounds) > 0 && m.Rounds[0].Chain.OnCPU.Seconds > 0
	r := bench.Report{
		Schema: bench.Schema, Scenario: ChainScenario, Command: "realmgate demo chain",
		About:   "two UDP flows through chains of dos-denial and dnat (Hanna 2017, chapter 7)",
		Devices: []string{"realmgate", "route"}, Options: map[string]string{}, Tuning: []bench.Tuning{}, Ratios: []bench.Ratio{},
		Notes: []string{
			"rates are bits of IP packets of 1,400 octets that arrived; sender, gateways and hosts share the CPUs",
			"memory is all that is in use on the machine, as vmstat has it; memory_chains is what the kernel accounts for the programs of both chains and the tables that only they use",
			"in each round: nothing for 2 s, 2 s through a kernel that routes, 2 s through the chains",
		},
	}
	if seen {
		r.Notes = append(r.Notes, "switches are context switches a second, from tasks that had been on the CPU for so many µs at least, and less than twice as many; swapper is the idle task; "+
			"they were seen in the same again, after each round")
	}
	add := func(dut, metric, unit string, parameters map[string]float64, values ...float64) {
		result := bench.Result{DUT: dut, Metric: metric, Unit: unit, Parameters: parameters, Summary: method.Summarise(values), Gates: map[string]bench.Gate{}}
		for i, v := range values {
			result.Trials = append(result.Trials, bench.Trial{Round: i + 1, Value: method.Number(v)})
		}
		r.Results = append(r.Results, result)
	}
	for i, f := range m.Flows {
		for n, p := range f.Phases {
			phase := map[string]float64{"phase": float64(n + 1), "asked": p.Rate}
			add("realmgate", fmt.Sprintf("sent%d", i+1), "bit/s", phase, p.SentRate)
			add("realmgate", fmt.Sprintf("flow%d", i+1), "bit/s", phase, p.ArrivedRate)
		}
		s := bench.Series{DUT: "realmgate", Plot: fmt.Sprintf("flow %d, to port %d", i+1, f.Port), X: "time, s", Y: "throughput, bit/s"}
		for n, rate := range f.Rates {
			s.Points = append(s.Points, [2]float64{(float64(n) + 0.5) * m.Every, rate})
		}
		r.Series = append(r.Series, s)
	}
	if len(m.Rounds) == 0 {
		return r
	}
	add("realmgate", "memory_chains", "bytes", nil, float64(m.Chains))
	for _, way := range []struct {
		dut, suffix string
		of          func(demo.Round) demo.Usage
	}{
		{"realmgate", "_idle", func(r demo.Round) demo.Usage { return r.Idle }},
		{"route", "", func(r demo.Round) demo.Usage { return r.Routing }},
		{"realmgate", "", func(r demo.Round) demo.Usage { return r.Chain }},
	} {
		each := func(of func(demo.Usage) float64) (values []float64) {
			for _, round := range m.Rounds {
				values = append(values, of(way.of(round)))
			}
			return values
		}
		add(way.dut, "memory"+way.suffix, "bytes", nil, each(func(u demo.Usage) float64 { return 1024 * float64(u.Memory) })...)
		add(way.dut, "cpu"+way.suffix, "%", nil, each(func(u demo.Usage) float64 { return u.CPU })...)
		if seen {
			addSwitches(m.Rounds, way.of, func(metric string, parameters map[string]float64, values ...float64) {
				add(way.dut, metric+way.suffix, bench.PerSecond, parameters, values...)
			})
		}
		if way.suffix != "" {
			continue
		}
		add(way.dut, "load1", "bit/s", nil, each(func(u demo.Usage) float64 { return u.Rates[0] })...)
		add(way.dut, "load2", "bit/s", nil, each(func(u demo.Usage) float64 { return u.Rates[1] })...)
		add(way.dut, "cpu_packet", "ns", nil, each(func(u demo.Usage) float64 { return u.Packet * 1e9 })...)
	}
	return r
}
