package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newDrops(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "drops",
		Short: "Watch the packets that are dropped, with the reason",
		Long: `Watch the packets that the gateway drops, as it happens, until Ctrl-C or until
--count of them were shown. They are a sample: under a flood not every packet is
shown, but "realmgate status" counts them all. docs/reference/counters.md explains
the reasons.

The tuple is protocol, source and destination as the packet had them when it came
in. The JSON array has an element per line, and is closed at the end.`,
		Example: `  realmgate drops
  realmgate drops --host hosta.foo.example --count 10
  realmgate drops --count 100 -o json > drops.json`,
		Args: cobra.NoArgs,
	}
	output, filter := outputFlag(command), filterFlags(command)
	var limit countFlag
	command.Flags().Var(&limit, "count", "stop after `N` packets; 0 means never")
	command.RunE = does(func(ctx context.Context) error {
		begin, show, end := a.dropLines()
		if output.value == "json" {
			begin, show, end = a.dropArray()
		}
		begun, shown := false, countFlag(0)
		var failed error
		err := a.client().Drops(ctx, *filter, func() {
			begun, failed = true, begin()
		}, func(d client.Drop) bool {
			failed = cmp.Or(failed, show(d))
			shown++
			return failed == nil && shown != limit
		})
		if !begun && err != nil {
			return err
		}
		if errors.Is(err, context.Canceled) {
			err = nil // Ctrl-C is how this ends
		}
		return cmp.Or(failed, end(), err)
	})
	return command
}

// dropLines shows a line for each drop at once, in columns wide enough for what
// will come. The longest reason has 23 letters.
func (a *app) dropLines() (begin func() error, show func(client.Drop) error, end func() error) {
	line := func(cells ...any) error {
		_, err := fmt.Fprintf(a.stdout, "%-12s  %-24s  %-7s  %-15s  %6v  %s\n", cells...)
		return written(err)
	}
	begin = func() error { return line("TIME", "REASON", "SIDE", "INTERFACE", "LENGTH", "TUPLE") }
	show = func(d client.Drop) error {
		return line(d.Time.In(a.zone).Format("15:04:05.000"), plain(string(d.Reason)), plain(d.Side), plain(d.Interface),
			d.Length, plain(tuple(d.Tuple)))
	}
	return begin, show, func() error { return nil }
}

// dropArray shows a JSON array, and each element at once.
func (a *app) dropArray() (begin func() error, show func(client.Drop) error, end func() error) {
	array := newJSONArray(a.stdout)
	show = func(d client.Drop) error { return cmp.Or(array.add(d), array.flush()) }
	return func() error { return nil }, show, array.end
}
