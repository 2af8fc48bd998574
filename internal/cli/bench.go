package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/dut"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
	"github.com/realmgate/realmgate/internal/lab/bench/scenario"
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
	command.RunE = func(command *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError(fmt.Sprintf("unknown command %q", args[0]))
		}
		return command.Help()
	}
	command.AddCommand(newBenchList(a), newBenchRun(a), newBenchReproduce(a), newBenchCompare(a), newBenchSplice())
	return command
}

// How many sessions there are where neither the person nor the scenario says
// otherwise. A box of somebody's own has a single outside address, and so no ports
// for a million.
const (
	defaultSessions  = 1_000_000
	externalSessions = 50_000
)

// benchFlags is what bench run takes.
type benchFlags struct {
	duts     []string
	sessions int
	hosts    int
	repeat   int
	length   int
	model    bool
	out      string
	external []string
	reset    string
	pcap     string
	benchMethod
}

func newBenchRun(a *app) *cobra.Command {
	var f benchFlags
	command := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Measure devices side by side and print what came out",
		Long: `Run a scenario: put a tester's traffic through each device in turn, over and over,
and print for each metric the median, the 1st and 99th percentile, and the ratio
to the first device. Needs root.

Standard output has the result alone; how far the run is goes to standard error.
Ctrl-C ends it in good order: what was measured until then is printed and written,
marked as interrupted, and the exit code is 1. So it is where no trial was valid.

Scenarios have devices, sessions, rounds and set-ups of their own where no flag
says otherwise: see realmgate bench list.`,
		Example: `  realmgate bench run nat44-establish
  realmgate bench run nat44-throughput --dut realmgate,nftables --sessions 100000 --out results
  realmgate bench run nat44-establish -o json | jq .ratios`,
		Args: takes("a scenario: see realmgate bench list"),
	}
	output := outputFlag(command)
	flags := command.Flags()
	flags.StringSliceVar(&f.duts, "dut", nil, "devices under test, `NAME,NAME`; the first is the baseline (default: the scenario's)")
	flags.IntVar(&f.sessions, "sessions", 0, "how many sessions, `N` (default: the scenario's, 50000 with --external)")
	flags.IntVar(&f.hosts, "hosts", 1, "inside hosts that send, `N`, each from its own address: 1 is RFC 9693's single pair of addresses")
	flags.IntVar(&f.repeat, "repeat", 0, "how many rounds count, `N` (default: the scenario's, 20 in the profile rfc)")
	flags.IntVar(&f.length, "frame", 64, "`OCTETS` of a frame, its check sequence with it: 64 to 1518")
	flags.BoolVar(&f.model, "model-only", false, "compute what the scenario's model says and measure nothing; needs no root")
	f.add(flags)
	flags.StringSliceVar(&f.external, "external", nil, "measure the box between two `INTERFACES` of this machine, the one on its private side first")
	flags.StringVar(&f.reset, "reset", "", "`COMMAND` of a shell that ends all sessions of the box of --external")
	flags.StringVar(&f.pcap, "pcap", "", "`FILE` in the format of pcap, for the scenario replay")
	flags.StringVar(&f.out, "out", "", "`FOLDER` for result.json, result.csv and report.html")
	command.RunE = func(command *cobra.Command, args []string) error {
		s, o, err := f.options(args[0], flags.Changed)
		if err == nil {
			err = f.apply(s, &o, flags.Changed)
		}
		if err == nil {
			err = f.placeExternal(s, &o, flags.Changed)
		}
		if err == nil {
			err = o.Check()
		}
		if err != nil {
			return usageError(err.Error())
		}
		o.Command = "realmgate " + strings.Join(os.Args[1:], " ")
		return does(func(ctx context.Context) error { return a.measure(ctx, s, o, f.out, output.value == "json") })(command, args)
	}
	return command
}

// measure shows what was measured also where the run failed in the middle.
func (a *app) measure(ctx context.Context, s bench.Scenario, o bench.Options, out string, asJSON bool) error {
	if o.External != (bench.External{}) { // before anything waits, or is built up
		if err := o.External.Usable(); err != nil {
			return err
		}
	}
	if out != "" { // not found out after hours
		if err := os.MkdirAll(out, 0o755); err != nil { // #nosec G301 -- for others to read
			return fmt.Errorf("make the folder of the report: %w", err)
		}
	}
	progress := newProgress(a.stderr, a.now)
	o.Progress = progress.show
	r, err := bench.Run(ctx, s, o)
	progress.end()
	err = errors.Join(err, a.showReport(r, out, asJSON))
	if err == nil {
		err = nothingValid(r)
	}
	return err
}

// nothingValid is the error of a run that ended well and says nothing about any of
// its devices. The control alone is no result.
func nothingValid(r bench.Report) error {
	why, of := "", math.MaxInt
	for _, result := range r.Results {
		if _, bound := report.LowerBound(result); bound || !math.IsNaN(float64(result.Median)) && result.DUT != r.Control {
			return nil
		}
		for _, t := range result.Trials {
			blame := 0 // a device's own fault is told before the machine's, and that before the control's
			switch {
			case result.DUT == r.Control:
				blame = 2
			case t.Disturbed():
				blame = 1
			}
			if t.Invalid != "" && blame < of {
				why, of = result.DUT+", "+t.Invalid, blame
			}
		}
	}
	switch {
	case len(r.Series) > 0 && len(r.Results) == 0:
		return nil
	case why != "":
		return fmt.Errorf("no trial was valid; the first: %s", why)
	}
	left := slices.DeleteFunc(slices.Clone(r.Notes), func(note string) bool { return !strings.Contains(note, " is left out: ") })
	return fmt.Errorf("nothing was measured: %s", strings.Join(left, "; "))
}

// showReport prints the report and writes it to a folder. One without results is
// none: there is only the error to show.
func (a *app) showReport(r bench.Report, out string, asJSON bool) (err error) {
	if len(r.Results)+len(r.Series) == 0 {
		return nil
	}
	if asJSON {
		err = report.JSON(a.stdout, r)
	} else {
		err = report.Table(a.stdout, r, terminalWidth(a.stdout))
	}
	if err = written(err); out != "" {
		err = errors.Join(err, report.Write(out, r))
	}
	return err
}

const seeBenchList = ": see realmgate bench list"

// options completes what was given (and what was not) by what suits the scenario.
func (f benchFlags) options(name string, given func(flag string) bool) (bench.Scenario, bench.Options, error) {
	var o bench.Options
	i := slices.IndexFunc(scenario.All(), func(s bench.Scenario) bool { return s.Name == name })
	if i < 0 {
		return bench.Scenario{}, o, fmt.Errorf("there is no scenario %q%s", name, cmp.Or(didYouMean(name, scenarioNames()), seeBenchList))
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
		Sessions: sessionsOf(s), Hosts: f.hosts, Length: f.length,
		CPU: lastCPU(), Capture: f.pcap, Executable: executable, Null: dut.All()[0], ModelOnly: f.model,
	}
	switch {
	case s.Captured && f.pcap == "":
		return s, o, fmt.Errorf("%s wants a capture: --pcap FILE", s.Name)
	case !s.Captured && f.pcap != "":
		return s, o, fmt.Errorf("%s has no use for --pcap: leave it out", s.Name)
	}
	if len(s.Modes) > 0 {
		o.Mode = s.Modes[0]
	}
	if given("sessions") {
		o.Sessions = f.sessions
	}
	if o.Repeat = s.Repeat; given("repeat") {
		o.Repeat = f.repeat
	}
	for _, name := range names {
		i := slices.IndexFunc(dut.All(), func(m bench.Model) bool { return m.Name == name })
		if i < 0 {
			return s, o, fmt.Errorf("there is no device %q%s", name, cmp.Or(didYouMean(name, deviceNames()), seeBenchList))
		}
		o.Devices = append(o.Devices, dut.All()[i])
	}
	return s, o, nil
}

// sessionsOf is how many sessions a scenario has where nobody says otherwise.
func sessionsOf(s bench.Scenario) int {
	if s.Sessions > 0 {
		return s.Sessions
	}
	return defaultSessions
}

func scenarioNames() (names []string) {
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	return names
}

func deviceNames() (names []string) {
	for _, m := range dut.All() {
		names = append(names, m.Name)
	}
	return names
}

// lastCPU is where interrupts and other processes are least.
func lastCPU() int { return runtime.NumCPU() - 1 }
