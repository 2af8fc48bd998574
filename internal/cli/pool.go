package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
)

func newPool(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "pool",
		Short: "List which service has which address",
		Long: `List the bindings of the circular pool: which address a service has, with its
ports there. RESERVATIONS is how many answers wait for a client, SESSIONS how
many connections stand. RESTS is how long the ports stay the service's own should
nobody use them meanwhile: after it the address may go to another service.`,
		Example: `  realmgate pool
  realmgate pool --address 198.18.0.33 -o json`,
		Args: cobra.NoArgs,
	}
	output, filter := outputFlag(command), filterFlags(command)
	command.RunE = does(func(ctx context.Context) error {
		bindings, err := a.client().Pool(ctx, *filter)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, bindings)
		}
		t := newTable("ADDRESS", "SERVICE", "PORTS", "HOST", "PRIVATE", "STATE", ">SESSIONS", ">RESERVATIONS", ">RESTS")
		for _, b := range bindings {
			t.add(b.Address.String(), b.Service, opens(b.Ports), b.Host, b.Private.String(), b.State,
				strconv.Itoa(b.Sessions), strconv.Itoa(b.Reservations), span(b.Rests))
		}
		return t.write(a.stdout)
	})
	return command
}
