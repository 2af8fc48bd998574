package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

func newHosts(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "hosts",
		Short: "List the hosts that can be reached by name",
		Long: `List the hosts of the private realm, and all that is open of them from outside:
which names open which ports. tcp/80→8080 is port 80 outside, which leads to 8080
of the host. A host's own name is closed unless it is opened. Of hosts that have
registered themselves it says by what, and when their leases end. A filter picks
whole hosts.`,
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
		t := newTable("HOST", "ADDRESS", "NAMES", "OPENS", "SOURCE", "ENDS")
		for _, h := range hosts {
			source, ends := cmp.Or(h.Source, "configuration"), ""
			if !h.Ends.IsZero() {
				ends = "in " + span(h.Ends.Sub(a.now()).Seconds())
			}
			if len(h.Open) == 0 {
				t.add(h.Name, h.Address.String(), h.Name, "closed", source, ends)
			}
			for _, s := range h.Services {
				t.add(h.Name, h.Address.String(), strings.Join(s.Names, ", "), opens(s.Ports), source, ends)
			}
		}
		return t.write(a.stdout)
	})
	return command
}

// opens writes ports as people read them: tcp/80→8080 for 80 outside that leads to 8080 of the host.
func opens(ports []model.Port) string {
	return strings.ReplaceAll(strings.Join(model.PortTexts(ports), ", "), ":", "→")
}
