package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench"
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

It takes about a minute and a half, needs root and no other program, and removes
everything at the end. What is not as it should be ends it with exit code 1.`,
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
		return errors.Join(err, writeSVG(*svg, reproduce.ChainReport(m)))
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
