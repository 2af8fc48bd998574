package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newHandover(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "handover",
		Short: "Stop the gateway, and leave its sessions at work for the next",
		Long: `Make the running gateway stop in good order and leave its data plane at work, as
for an upgrade: open sessions go on, and the next gateway of the same instance
takes them over. Until it runs, no names are answered.

Where systemd restarts the service this is a restart without a gap.`,
		Example: "  realmgate handover",
		Args:    cobra.NoArgs,
	}
	command.RunE = does(func(ctx context.Context) error {
		left, err := a.client().Handover(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "the gateway stops, and leaves %s at work\n", many(left.Sessions, "session", "sessions"))
		return written(err)
	})
	return command
}
