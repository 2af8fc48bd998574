package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newReload(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "reload",
		Short: "Put a changed configuration into force",
		Long: `Make the running gateway read its configuration file again and put it into force
as a whole, without losing a packet. A file with a fault changes nothing: the
faults are printed as FILE:LINE: message, and the exit code is 1.`,
		Example: `  realmgate reload
  realmgate reload --instance lab`,
		Args: cobra.NoArgs,
	}
	command.RunE = does(func(ctx context.Context) error {
		done, err := a.client().Reload(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "generation %d is in force, with %s\n", done.Generation, many(done.Hosts, "host", "hosts"))
		return written(err)
	})
	return command
}
