package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

func newDemo(a *app) *cobra.Command { return newDemoOf(a, demo.Run) }

// newDemoOf takes what tells the story, for tests to replace.
func newDemoOf(a *app, tell func(context.Context, demo.Options) error) *cobra.Command {
	command := &cobra.Command{
		Use:   "demo",
		Short: "Show how it works, in small networks on this machine",
		Long: `Lay out a small Internet on this machine, in network namespaces, run a gateway
in it, and show what people inside and outside see. It takes a few seconds,
needs root and no other program, and removes everything at the end.

Every line is printed when it was observed. The first thing that is not as it
should be ends the demo with exit code 1. docs/guide/demo.md explains the steps.`,
		Example: `  realmgate demo
  realmgate demo --keep
  realmgate demo --json | jq '.[] | select(.ok | not)'`,
		Args: cobra.NoArgs,
	}
	keep := command.Flags().Bool("keep", false, "leave everything up at the end, and tell how to look around")
	asJSON := command.Flags().Bool("json", false, "print one JSON array, an element for each step")
	remove := command.Flags().String("remove", "", "remove the demo that --keep left up, by its `ID`")
	command.RunE = does(func(ctx context.Context) error {
		// A closed terminal or pipe ends the demo in good order, too.
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE)
		defer stop()
		if !command.Flags().Changed("remove") {
			return tell(ctx, demo.Options{Out: a.stdout, JSON: *asJSON, Keep: *keep, Colour: wantsColours(a.stdout)})
		}
		if *keep || *asJSON {
			return usageError("--remove goes with no other flag")
		}
		if err := demo.Remove(*remove); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%s is removed\n", *remove)
		return written(err)
	})
	command.AddCommand(newDemoChain(a), newDemoEdges(a), newDemoProtect(a), newAct())
	return command
}

// newAct is how the demo starts its web servers and its resolver.
func newAct() *cobra.Command {
	return &cobra.Command{
		Use: "act PART...", Hidden: true, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, args []string) error {
			if err := demo.Act(command.Context(), args); err != nil && !errors.Is(err, context.Canceled) {
				return runError{err}
			}
			return nil
		},
	}
}

// wantsColours reports whether w is a terminal that does (https://no-color.org).
func wantsColours(w any) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
