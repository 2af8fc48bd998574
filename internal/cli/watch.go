package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newWatches(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "watches",
		Short: "List the logs that are watched",
		Long: `List the logs that are watched, in the order of the configuration: how many lines
were looked at, how many were hits, how many times an address had enough of them to
be banned, and what is wrong now.`,
		Example: `  realmgate watches
  realmgate watches -o json`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		watches, err := a.client().Watches(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, watches)
		}
		t := newTable("NAME", ">LINES", ">HITS", ">OFFENCES", "LOG", "ERROR")
		for _, w := range watches {
			t.add(w.Name, count(w.Lines), count(w.Hits), count(w.Offences), logOf(w), w.Error)
		}
		return t.write(a.stdout)
	})
	return command
}

// logOf writes where the lines of a watch come from.
func logOf(w client.Watch) string {
	if w.File != "" {
		return w.File
	}
	return strings.Join(w.Command, " ")
}
