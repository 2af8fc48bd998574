package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/reproduce"
)

func newBenchReproduce(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "reproduce",
		Short: "Repeat the measurements of the papers that Realmgate grew out of",
		Long: `Repeat the measurements of the papers that Realmgate grew out of, as far as this
machine reaches, and write a page with a row for each of their tables and figures:
what they found, what netfilter and Realmgate show here, and whether the finding
holds. It takes about an hour and, for 40 million connections, 20 GB of memory; with
--profile paper, which has all sizes of their tables, an hour and a half.

Each measurement's report is below FOLDER/raw as soon as it is done. What has a
report there of this program on this machine is not measured again: an interrupted
run goes on where it was, and without anything left to measure only the page is
written, which needs no root.`,
		Example: `  realmgate bench reproduce --profile paper --out docs/results`,
		Args:    cobra.NoArgs,
	}
	out := command.Flags().String("out", "reproduction", "`FOLDER` for reproduction.md and the reports")
	profile := command.Flags().String("profile", string(bench.Quick), "`PROFILE`: quick, or paper with all points of the papers' tables")
	command.RunE = does(func(ctx context.Context) error {
		if err := oneOf("profile", *profile, string(bench.Quick), string(bench.Paper)); err != nil {
			return usageError(err.Error())
		}
		tell := func(what string) { fmt.Fprintln(a.stderr, what) }
		if err := reproduce.Run(ctx, bench.Profile(*profile), reproduce.Papers(), *out, a.measureJob, tell); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.stdout, filepath.Join(*out, "reproduction.md"))
		return written(err)
	})
	return command
}

// measureJob runs a job.
func (a *app) measureJob(ctx context.Context, job reproduce.Job) (bench.Report, error) {
	if job.Scenario == reproduce.ChainScenario {
		return reproduce.MeasureChain(ctx)
	}
	s, o, err := jobOptions(job)
	if err != nil {
		return bench.Report{}, err
	}
	progress := newProgress(a.stderr, a.now)
	defer progress.end()
	o.Progress = progress.show
	return bench.Run(ctx, s, o)
}

// jobOptions is what bench run would make of a job's flags.
func jobOptions(job reproduce.Job) (bench.Scenario, bench.Options, error) {
	f := benchFlags{duts: job.Devices, sessions: job.Sessions, hosts: max(job.Hosts, 1), repeat: job.Repeat, length: 64}
	var given []string
	words := "realmgate bench run " + job.Scenario
	if len(job.Devices) > 0 {
		words += " --dut " + strings.Join(job.Devices, ",")
	}
	if job.Sessions > 0 {
		given, words = append(given, "sessions"), words+fmt.Sprintf(" --sessions %d", job.Sessions)
	} else {
		f.sessions = defaultSessions
	}
	if job.Repeat > 0 {
		given, words = append(given, "repeat"), words+fmt.Sprintf(" --repeat %d", job.Repeat)
	}
	if job.Hosts > 0 {
		words += fmt.Sprintf(" --hosts %d", job.Hosts)
	}
	method := defaultMethod()
	if job.Profile != "" && job.Profile != bench.Quick {
		method.profile, words = string(job.Profile), words+" --profile "+string(job.Profile)
	}
	if job.Direction != "" {
		given, method.direction, words = append(given, "direction"), job.Direction, words+" --direction "+job.Direction
	}
	changed := func(flag string) bool { return slices.Contains(given, flag) }
	s, o, err := f.options(job.Scenario, changed)
	if err == nil {
		err = method.apply(s, &o, changed)
	}
	if err == nil {
		err = o.Check()
	}
	o.Command = words
	return s, o, err
}
