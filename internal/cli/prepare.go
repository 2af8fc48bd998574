package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/daemon"
	"github.com/realmgate/realmgate/internal/handover"
)

// newPrepare is what a gateway that hands over runs of the version that takes over.
func newPrepare(a *app) *cobra.Command {
	command := &cobra.Command{Use: "prepare -c FILE", Hidden: true, Args: cobra.NoArgs}
	var file configFlag
	file.add(command)
	command.RunE = does(func(context.Context) error {
		if err := file.want(); err != nil {
			return err
		}
		d, err := config.Read(string(file))
		if err != nil {
			return err
		}
		if err := daemon.Check(d); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return handover.Prepare(string(a.instance))
	})
	return command
}
