package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newJails(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "jails",
		Short: "List the logs that are watched",
		Long: `List the logs that are watched, in the order of the configuration: how many lines
were looked at, how many were failures, how many times an address had enough of
them to be banned, and what is wrong now.`,
		Example: `  realmgate jails
  realmgate jails -o json`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		jails, err := a.client().Jails(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, jails)
		}
		t := newTable("NAME", ">LINES", ">FAILURES", ">OFFENCES", "LOG", "ERROR")
		for _, w := range jails {
			t.add(w.Name, count(w.Lines), count(w.Failures), count(w.Offences), logOf(w), w.Error)
		}
		return t.write(a.stdout)
	})
	return command
}

// logOf writes where the lines of a jail come from.
func logOf(w client.Jail) string {
	if w.File != "" {
		return w.File
	}
	return strings.Join(w.Command, " ")
}
