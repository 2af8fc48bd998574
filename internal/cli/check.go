package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/gateway"
)

func newCheck(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a configuration file",
		Long: `Check a configuration file without touching anything. It needs no root and no
running gateway.

All faults are printed at once to standard error, each as FILE:LINE: message, and
the exit code is 1. What only this machine can tell, such as whether an interface
exists, is seen by "run" and "reload".`,
		Example: `  realmgate check -c /etc/realmgate.yaml && realmgate reload`,
		Args:    cobra.NoArgs,
	}
	var file configFlag
	file.add(command)
	command.RunE = does(func(context.Context) error {
		if err := file.want(); err != nil {
			return err
		}
		c, err := config.Load(string(file))
		if err != nil {
			return err
		}
		if err := gateway.Check(c); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		services := 0
		for _, host := range c.Hosts {
			services += len(host.Services)
		}
		_, err = fmt.Fprintf(a.stdout, "%s: ok (%s, %s, %s)\n", file, many(len(c.Hosts), "host", "hosts"),
			many(services, "service", "services"), many(len(c.Pool.Addresses), "pool address", "pool addresses"))
		return written(err)
	})
	return command
}
