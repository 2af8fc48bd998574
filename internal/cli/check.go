package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/daemon"
	"github.com/realmgate/realmgate/internal/handover"
)

func newCheck(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a configuration file",
		Long: `Check a configuration file without touching anything. It needs no root and no
running gateway.

All faults are printed at once to standard error, each as FILE:LINE: message, and
the exit code is 1. Warnings are printed there, too, each as FILE: warning: message;
the exit code stays 0. What takes the gateway to tell, such as whether a host is in
one of its networks, is said on a machine that has configured interfaces of both
sides, and which it lacks where it has any. There, hosts of the web are asked what
they can. Root there also asks neighbours by ARP whether they have one of the
addresses.

With --upgrade the exit code is 1, too, where a restart with this version would end
the open sessions of the running gateway, as its tables are laid out otherwise.`,
		Example: `  realmgate check -c /etc/realmgate.yaml && realmgate reload
  realmgate check -c /etc/realmgate.yaml --upgrade && realmgate handover`,
		Args: cobra.NoArgs,
	}
	var file configFlag
	file.add(command)
	upgrade := command.Flags().Bool("upgrade", false, "also say whether a restart with this version keeps the open sessions, which takes root")
	command.RunE = does(func(ctx context.Context) error {
		if err := file.want(); err != nil {
			return err
		}
		d, err := config.Read(string(file))
		if err != nil {
			return err
		}
		c := d.Config
		if err := daemon.Check(d); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, w := range daemon.Doubts(ctx, d).All() {
			if _, err := fmt.Fprintf(a.stderr, "%s: warning: %s\n", file, plain(w)); err != nil {
				return written(err)
			}
		}
		if *upgrade {
			if err := handover.Check(string(a.instance)); err != nil {
				return err
			}
		}
		services := 0
		for _, host := range c.Hosts {
			services += len(host.Services)
		}
		_, err = fmt.Fprintf(a.stdout, "%s: ok (%s, %s, %s)\n", file, many(len(c.Hosts), "host", "hosts"),
			many(services, "service", "services"), many(len(c.Pool.Addresses)+len(c.Pool.Interfaces), "pool address", "pool addresses"))
		return written(err)
	})
	return command
}
