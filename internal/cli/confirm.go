package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newConfirm(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "confirm",
		Short: "Keep what a reload put into force",
		Long: `Keep what "realmgate reload --confirm" put into force. Without it the gateway goes
back to the configuration before.`,
		Example: "  realmgate confirm",
		Args:    cobra.NoArgs,
	}
	command.RunE = does(func(ctx context.Context) error {
		done, err := a.client().ConfigEditor().Confirm(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "generation %d stays in force\n", done.Generation)
		return written(err)
	})
	return command
}
