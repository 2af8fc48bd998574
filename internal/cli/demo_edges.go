package cli

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

func newDemoEdges(a *app) *cobra.Command { return newDemoEdgesOf(a, demo.RunEdges) }

// newDemoEdgesOf takes what tells the story, for tests to replace.
func newDemoEdgesOf(a *app, tell func(context.Context, demo.EdgesOptions) error) *cobra.Command {
	command := &cobra.Command{
		Use:   "edges",
		Short: "Show two networks with the same addresses, joined by name",
		Long: `Lay two networks with the same private addresses, in network namespaces on this
machine, with a gateway before each, and have a host of either fetch from a host
of the other by its name. What goes between the two gateways is captured: there is
no private address in it.

It takes some seconds, needs root and no other program, and removes everything at
the end. What is not as it should be ends it with exit code 1.`,
		Example: `  realmgate demo edges
  realmgate demo edges --json | jq '.[] | select(.ok | not)'`,
		Args: cobra.NoArgs,
	}
	asJSON := command.Flags().Bool("json", false, "print one JSON array, an element for each step")
	command.RunE = does(func(ctx context.Context) error {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE)
		defer stop()
		return tell(ctx, demo.EdgesOptions{Out: a.stdout, JSON: *asJSON, Colour: wantsColours(a.stdout)})
	})
	return command
}
