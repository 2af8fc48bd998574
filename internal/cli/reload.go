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
faults are printed as FILE:LINE: message, and the exit code is 1.

Changes that commands made to chains, and "realmgate chain save" did not write to
the file, are gone then.`,
		Example: `  realmgate reload
  realmgate reload --instance lab`,
		Args: cobra.NoArgs,
	}
	command.RunE = does(func(ctx context.Context) error {
		done, err := a.client().ConfigEditor().Reload(ctx)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("generation %d is in force, with %s", done.Generation, many(done.Hosts, "host", "hosts"))
		if done.Dropped > 0 {
			text += fmt.Sprintf("; %s made by command dropped: realmgate chain save, before a reload, keeps them", many(done.Dropped, "change", "changes"))
		}
		_, err = fmt.Fprintln(a.stdout, text)
		return written(err)
	})
	return command
}
