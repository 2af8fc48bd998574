package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/reproduce"
	"github.com/realmgate/realmgate/internal/lab/demo"
)

func newDemoChain(a *app) *cobra.Command { return newDemoChainOf(a, demo.RunChain) }

// newDemoChainOf takes what makes the experiment, for tests to replace.
func newDemoChainOf(a *app, run func(context.Context, demo.ChainOptions) (demo.Measured, error)) *cobra.Command {
	command := &cobra.Command{
		Use:   "chain",
		Short: "Show a chain of functions that cuts off who sends too much",
		Long: `Repeat the experiments that Hanna made with chains of network functions in the
kernel (2017), in network namespaces on this machine: two UDP flows of 50, 150
and 100 Mbit/s go through a chain each, of dos-denial with a threshold of 100
Mbit/s and dnat to a host each. What arrives is printed as it does, and judged
packet by packet; then what a chain takes is measured beside plain routing.

It takes about a minute, needs root and no other program, and removes everything
at the end. What is not as it should be ends it with exit code 1.`,
		Example: `  realmgate demo chain --svg throughput.svg
  realmgate demo chain --json | jq '.[1].seen.flows[].phases'`,
		Args: cobra.NoArgs,
	}
	asJSON := command.Flags().Bool("json", false, "print one JSON array, an element for each step")
	svg := command.Flags().String("svg", "", "draw the throughput over time in `FILE`")
	command.RunE = does(func(ctx context.Context) error {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE)
		defer stop()
		if *svg != "" { // before a minute has gone by
			file, err := os.Create(*svg)
			if err != nil {
				return fmt.Errorf("draw the throughput: %w", err)
			}
			_ = file.Close() // it is written when there is something to draw
		}
		m, err := run(ctx, demo.ChainOptions{Out: a.stdout, JSON: *asJSON, Colour: isTerminal(a.stdout)})
		if *svg == "" || len(m.Flows) == 0 {
			return err
		}
		return errors.Join(err, writeSVG(*svg, chainReport(m)))
	})
	return command
}

func writeSVG(path string, r bench.Report) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("draw the throughput: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return reproduce.PlotChain(file, r)
}

// measureChain makes the experiment for a reproduction.
func (a *app) measureChain(ctx context.Context) (bench.Report, error) {
	var told strings.Builder
	started := time.Now().UTC()
	m, err := demo.RunChain(ctx, demo.ChainOptions{Out: io.Writer(&told)})
	if errors.Is(err, demo.ErrNotRoot) {
		return bench.Report{}, bench.ErrNotRoot
	}
	if err != nil {
		return bench.Report{}, err
	}
	r := chainReport(m)
	r.Started, r.Seconds = started, time.Since(started).Seconds()
	r.Environment, err = bench.ReadEnvironment()
	return r, err
}

// chainReport is the experiment in the form of all reports.
func chainReport(m demo.Measured) bench.Report {
	r := bench.Report{
		Schema: bench.Schema, Scenario: reproduce.ChainScenario, Command: "realmgate demo chain",
		About:   "two UDP flows through chains of dos-denial and dnat (Hanna 2017, chapter 7)",
		Devices: []string{"realmgate", "route"}, Options: map[string]string{}, Tuning: []bench.Tuning{}, Ratios: []bench.Ratio{},
		Notes: []string{
			"rates are bits of IP packets of 1,400 octets that arrived; sender, gateways and hosts share the CPUs",
			"memory is all that is in use on the machine, as vmstat has it; memory_chains is what the kernel accounts for the programs of both chains and the tables that only they use",
			"in each round: nothing for 2 s, 2 s through a kernel that routes, 2 s through the chains",
		},
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
		if way.suffix != "" {
			continue
		}
		add(way.dut, "load1", "bit/s", nil, each(func(u demo.Usage) float64 { return u.Rates[0] })...)
		add(way.dut, "load2", "bit/s", nil, each(func(u demo.Usage) float64 { return u.Rates[1] })...)
		add(way.dut, "cpu_packet", "ns", nil, each(func(u demo.Usage) float64 { return u.Packet * 1e9 })...)
	}
	return r
}
