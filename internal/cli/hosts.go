package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newHosts(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "hosts",
		Short: "List the hosts that can be reached by name",
		Long: `List the hosts of the private realm with their services: the port outside, and the
port of the host that it leads to. A filter picks whole hosts.`,
		Example: `  realmgate hosts
  realmgate hosts --protocol tcp --port 80`,
		Args: cobra.NoArgs,
	}
	output, filter := outputFlag(command), filterFlags(command)
	command.RunE = does(func(ctx context.Context) error {
		hosts, err := a.client().Hosts(ctx, *filter)
		if err != nil {
			return err
		}
		slices.SortStableFunc(hosts, func(x, y client.Host) int { return cmp.Compare(x.Name, y.Name) })
		if output.value == "json" {
			return writeJSONArray(a.stdout, hosts)
		}
		t := newTable("HOST", "ADDRESS", "SERVICE", "PROTOCOL", ">PORT", ">TO")
		for _, h := range hosts {
			name, address := h.Name, h.Address.String()
			if len(h.Services) == 0 {
				t.add(name, address, "", "", "", "")
			}
			for _, s := range h.Services {
				t.add(name, address, s.Name, s.Protocol.String(), port(s.Port), port(s.To))
			}
		}
		return t.write(a.stdout)
	})
	return command
}
