package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newReload(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "reload",
		Short: "Put a changed configuration into force",
		Long: `Make the running gateway read its configuration file again and put it into force
as a whole, without losing a packet. A file with a fault changes nothing: the
faults are printed as FILE:LINE: message, and the exit code is 1.

Changes that commands made to chains, and "realmgate chain save" did not write to
the file, are gone then.

With --confirm it is undone after that time unless "realmgate confirm" follows, so
that a mistake does not lock you out. File and gateway then are as they were, and
what the file had is kept beside it. So it is after a crash or restart in between.`,
		Example: `  realmgate reload
  realmgate reload --confirm 2m
  realmgate reload --instance lab`,
		Args: cobra.NoArgs,
	}
	var confirm confirmFlag
	command.Flags().Var(&confirm, "confirm", "undo it after this `DURATION`, unless it is confirmed: 30s or 2m")
	command.RunE = does(func(ctx context.Context) error {
		done, err := a.client().ConfigEditor().TryReload(ctx, time.Duration(confirm))
		if err != nil {
			return err
		}
		text := fmt.Sprintf("generation %d is in force, with %s", done.Generation, many(done.Hosts, "host", "hosts"))
		if done.Dropped > 0 {
			text += fmt.Sprintf("; %s made by command dropped: realmgate chain save, before a reload, keeps them", many(done.Dropped, "change", "changes"))
		}
		if done.Confirm > 0 {
			text += fmt.Sprintf("\nit is undone in %s, unless this follows: realmgate confirm", time.Duration(done.Confirm)*time.Second)
		}
		_, err = fmt.Fprintln(a.stdout, text)
		return written(err)
	})
	return command
}

// confirmFlag is how long a reload may wait to be confirmed.
type confirmFlag time.Duration

// String implements pflag.Value.
func (f *confirmFlag) String() string {
	if *f == 0 {
		return ""
	}
	return time.Duration(*f).String()
}

// Type implements pflag.Value.
func (f *confirmFlag) Type() string { return "duration" }

// Set implements pflag.Value.
func (f *confirmFlag) Set(text string) error {
	const most = client.MostConfirm * time.Second
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > most || d%time.Second != 0 {
		return fmt.Errorf("use whole seconds with a unit, as 30s or 2m, up to %.0fh", most.Hours())
	}
	*f = confirmFlag(d)
	return nil
}
