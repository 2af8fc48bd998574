package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/dut"
	"github.com/realmgate/realmgate/internal/bench/report"
	"github.com/realmgate/realmgate/internal/bench/scenario"
)

func newBench(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure NAT gateways and firewalls side by side",
		Long: `Measure stateful NAT gateways and firewalls on this machine, in network
namespaces, after RFC 9693. Every scenario puts a tester's traffic through each
device in turn, over and over, and compares them with what comes first.

docs/guide/bench.md explains the method and how to read the results.`,
		Example: `  realmgate bench list
  realmgate bench run nat44-establish --dut realmgate,iptables,nftables --repeat 5 --out results`,
	}
	command.AddCommand(newBenchList(a), newBenchRun(a))
	return command
}

func newBenchList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List scenarios and devices, a line each", Args: cobra.NoArgs,
		RunE: does(func(context.Context) error {
			t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "SCENARIO\tWHAT IT MEASURES")
			for _, s := range scenario.All() {
				fmt.Fprintf(t, "%s\t%s\n", s.Name, s.About)
			}
			fmt.Fprintln(t, "\nDEVICE\tWHAT IT IS")
			for _, m := range dut.All() {
				fmt.Fprintf(t, "%s\t%s\n", m.Name, m.About)
			}
			return written(t.Flush())
		}),
	}
}

// benchFlags is what bench run takes.
type benchFlags struct {
	duts     []string
	sessions int
	repeat   int
	length   int
	model    bool
	out      string
}

func newBenchRun(a *app) *cobra.Command {
	var f benchFlags
	command := &cobra.Command{
		Use: "run SCENARIO", Short: "Run a scenario and print what came out", Args: cobra.ExactArgs(1),
	}
	flags := command.Flags()
	flags.StringSliceVar(&f.duts, "dut", nil, "devices under test, `NAME,NAME`; the first is the baseline")
	flags.IntVar(&f.sessions, "sessions", 1_000_000, "how many sessions, `N`, unless fewer suit the scenario")
	flags.IntVar(&f.repeat, "repeat", 5, "how many rounds count, `N`, unless fewer suit the scenario")
	flags.IntVar(&f.length, "frame", 64, "`OCTETS` of a frame, its check sequence with it: 64 to 1518")
	flags.BoolVar(&f.model, "model-only", false, "compute what the scenario's model says and measure nothing; needs no root")
	flags.StringVar(&f.out, "out", "", "`FOLDER` for result.json, result.csv and report.html")
	command.RunE = func(command *cobra.Command, args []string) error {
		s, o, err := f.options(args[0], flags.Changed)
		if err != nil {
			return usageError(err.Error())
		}
		o.Command = "realmgate " + strings.Join(os.Args[1:], " ")
		o.Progress = func(p bench.Progress) { fmt.Fprintf(a.stderr, "[%d/%d] %s\n", p.Done, p.Total, p.What) }
		return does(func(ctx context.Context) error { return a.measure(ctx, s, o, f.out) })(command, args)
	}
	return command
}

func (a *app) measure(ctx context.Context, s bench.Scenario, o bench.Options, out string) error {
	r, err := bench.Run(ctx, s, o)
	if len(r.Results) > 0 {
		err = errors.Join(err, written(report.Table(a.stdout, r)))
		if out != "" {
			err = errors.Join(err, report.Write(out, r))
		}
	}
	return err
}

// options completes what was given (and what was not) by what suits the scenario.
func (f benchFlags) options(name string, given func(flag string) bool) (bench.Scenario, bench.Options, error) {
	var o bench.Options
	i := slices.IndexFunc(scenario.All(), func(s bench.Scenario) bool { return s.Name == name })
	if i < 0 {
		return bench.Scenario{}, o, fmt.Errorf("there is no scenario %q: see realmgate bench list", name)
	}
	s := scenario.All()[i]
	names := f.duts
	if len(names) == 0 {
		names = s.Devices
	}
	executable, err := os.Executable()
	if err != nil {
		return s, o, fmt.Errorf("find this program: %w", err)
	}
	o = bench.Options{
		Sessions: f.sessions, Repeat: f.repeat, Length: f.length, Profile: bench.Quick, Mode: s.Modes[0],
		CPU: lastCPU(), Executable: executable, Null: dut.All()[0], Direction: 2, ModelOnly: f.model,
	}
	if s.Sessions > 0 && !given("sessions") {
		o.Sessions = s.Sessions
	}
	if s.Repeat > 0 && !given("repeat") {
		o.Repeat = s.Repeat
	}
	for _, name := range names {
		i := slices.IndexFunc(dut.All(), func(m bench.Model) bool { return m.Name == name })
		if i < 0 {
			return s, o, fmt.Errorf("there is no device %q: see realmgate bench list", name)
		}
		o.Devices = append(o.Devices, dut.All()[i])
	}
	return s, o, o.Check()
}

// lastCPU is where interrupts and other processes are least.
func lastCPU() int { return runtime.NumCPU() - 1 }
