package cli

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

func newDemoProtect(a *app) *cobra.Command { return newDemoProtectOf(a, demo.RunProtect) }

// newDemoProtectOf takes what tells the story, for tests to replace.
func newDemoProtectOf(a *app, tell func(context.Context, demo.ProtectOptions) error) *cobra.Command {
	command := &cobra.Command{
		Use:   "protect",
		Short: "Show a country blocked, a scanner caught and a guesser banned",
		Long: `Show what the protection does, in network namespaces on this machine: a geofence
blocks a country, a honeypot has a scanner banned, and a jail of sshd's log has
somebody banned who guesses passwords. What they have open ends; who is only named
in forged packets and lines goes on.

It takes some ten seconds, needs root and no other program, and removes everything
at the end. What is not as it should be ends it with exit code 1.`,
		Example: `  realmgate demo protect
  realmgate demo protect --json | jq '.[] | select(.ok | not)'`,
		Args: cobra.NoArgs,
	}
	asJSON := command.Flags().Bool("json", false, "print one JSON array, an element for each step")
	command.RunE = does(func(ctx context.Context) error {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE)
		defer stop()
		return tell(ctx, demo.ProtectOptions{Out: a.stdout, JSON: *asJSON, Colour: wantsColours(a.stdout)})
	})
	return command
}
