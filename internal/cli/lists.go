package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newLists(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "lists",
		Short: "Show the lists of addresses and how fresh they are",
		Long: `Show the lists of addresses that the configuration has by URL. AGE is since the
server last said that the copy in force is the newest, NEXT is until it is asked
again, ERROR what was wrong with the last attempt: its last good copy stays.`,
		Example: `  realmgate lists
  realmgate lists refresh drop`,
		Args: cobra.NoArgs,
	}
	command.AddCommand(newListsRefresh(a))
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		lists, err := a.client().Lists(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, lists)
		}
		t := newTable("NAME", ">ENTRIES", ">AGE", ">NEXT", "SOURCE", "ERROR")
		for _, l := range lists {
			age, next := "never had", "now"
			if !l.Checked.IsZero() {
				age = span(max(0, a.now().Sub(l.Checked).Seconds()))
			}
			if left := l.Next.Sub(a.now()).Seconds(); left > 0 {
				next = span(left)
			}
			t.add(l.Name, strconv.Itoa(l.Entries), age, next, l.Source, l.Error)
		}
		return t.write(a.stdout)
	})
	return command
}

func newListsRefresh(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "refresh [NAME...]",
		Short: "Fetch lists now",
		Long: `Make the gateway fetch these lists now, without names all of them, and return at
once. What came of it is shown by realmgate lists.`,
		Example: `  realmgate lists refresh
  realmgate lists refresh drop --force`,
	}
	force := command.Flags().Bool("force", false, "take the next copy also where it has shrunk")
	command.RunE = func(command *cobra.Command, args []string) error {
		return does(func(ctx context.Context) error {
			n, err := a.client().RefreshLists(ctx, client.ListRequest{Lists: args, Force: *force})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s to fetch now\n", many(n, "list", "lists"))
			return written(err)
		})(command, args)
	}
	return command
}
