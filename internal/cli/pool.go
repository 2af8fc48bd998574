package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newPool(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "pool",
		Short: "List the addresses that are lent by name",
		Long: `List the reservations of the circular pool: which address is lent, for which
protocol and port, to whom inside, and who asked. CLAIMS is how many connections
may still come, LEFT the time until the offer expires or the address is free for
another host. Sessions that came through an address do not hold it.`,
		Example: `  realmgate pool
  realmgate pool --address 198.18.0.33 -o json`,
		Args: cobra.NoArgs,
	}
	output, filter := outputFlag(command), filterFlags(command)
	command.RunE = does(func(ctx context.Context) error {
		reservations, err := a.client().Reservations(ctx, *filter)
		if err != nil {
			return err
		}
		slices.SortStableFunc(reservations, func(x, y client.Reservation) int {
			return cmp.Or(x.Address.Compare(y.Address), cmp.Compare(x.Protocol, y.Protocol), cmp.Compare(x.Port, y.Port))
		})
		if output.value == "json" {
			return writeJSONArray(a.stdout, reservations)
		}
		t := newTable("ADDRESS", "PROTOCOL", ">PORT", "STATE", ">CLAIMS", ">LEFT", "NAME", "PRIVATE", "REQUESTER")
		for _, r := range reservations {
			t.add(r.Address.String(), r.Protocol.String(), port(r.Port), r.State, strconv.Itoa(r.Claims),
				span(r.Remaining), cmp.Or(r.Name, r.Host), endpoint(r.Private), r.Requester)
		}
		return t.write(a.stdout)
	})
	return command
}
