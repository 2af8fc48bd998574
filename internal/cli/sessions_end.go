package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newSessionsEnd(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "end",
		Short: "End sessions at once",
		Long: `End the sessions that the filters pick, those that "realmgate sessions" lists with
the same filters, or every one with --all, and print how many they were.

They end as those do whose time is over: nobody is told, packets that still come
are judged as if there had never been a session, ports of UDP and ICMP stay with
their hosts for the quarantine, if there is one. New sessions may begin at once.`,
		Example: `  realmgate sessions end --address 192.0.2.66
  realmgate sessions end --host www.hosta.foo.example --protocol tcp
  realmgate sessions end --all`,
		Args: cobra.NoArgs,
	}
	output, filter := outputFlag(command), filterFlags(command)
	all := command.Flags().Bool("all", false, "every session; not together with a filter")
	command.RunE = func(command *cobra.Command, args []string) error {
		switch none := *filter == (client.Filter{}); {
		case none && !*all:
			return usageError("say which sessions by a filter, or --all")
		case !none && *all:
			return usageError("give filters or --all, not both")
		}
		return does(func(ctx context.Context) error {
			n, err := a.client().EndSessions(ctx, *filter)
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.stdout, client.Ended{Sessions: n})
			}
			_, err = fmt.Fprintf(a.stdout, "%s ended\n", many(n, "session", "sessions"))
			return written(err)
		})(command, args)
	}
	return command
}
