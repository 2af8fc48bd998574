package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newEvents(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "events",
		Short: "List where events go",
		Long: `List the sinks of events, in the order of the configuration: how many events
each has taken since it runs, how many were lost for it, how many wait, and what is
wrong now.`,
		Example: `  realmgate events
  realmgate events -o json`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		sinks, err := a.client().Events(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			return writeJSONArray(a.stdout, sinks)
		}
		t := newTable("NAME", ">DELIVERED", ">LOST", ">QUEUED", "TO", "ERROR")
		for _, s := range sinks {
			t.add(s.Name, count(s.Delivered), count(s.Lost), strconv.Itoa(s.Queued), toOf(s), s.Error)
		}
		return t.write(a.stdout)
	})
	return command
}

// toOf writes where a sink takes events.
func toOf(s client.Sink) string {
	switch {
	case s.File != "":
		return s.File
	case s.Webhook != "":
		return s.Webhook
	case len(s.Mail) > 0:
		return "mail to " + strings.Join(s.Mail, ", ")
	case s.Telegram != "":
		return "Telegram chat " + s.Telegram
	}
	return strings.Join(s.Command, " ")
}
