package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

// sessionGroup is how many sessions are sorted and aligned together, so that a
// full gateway's million need no memory here.
const sessionGroup = 50_000

func newSessions(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions through the gateway",
		Long: `List the sessions through the gateway, those that are closing included.

PRIVATE, EXTERNAL and REMOTE are the endpoints of the host inside, of the gateway
for it, and of the peer outside. ORIGIN tells who opened the session: inside (a
host of ours), pool (somebody outside who asked for NAME) or mapping (somebody
outside whom a mapping lets in). IDLE is the time since the last packet.

The table is sorted by private address, in groups of 50,000 sessions; the JSON
array is not sorted.`,
		Example: `  realmgate sessions --host www.hosta.foo.example
  realmgate sessions --protocol tcp --port 80
  realmgate sessions -o json | jq length`,
		Args: cobra.NoArgs,
	}
	output, filter := outputFlag(command), filterFlags(command)
	command.RunE = does(func(ctx context.Context) error {
		if output.value == "json" {
			return a.sessionArray(ctx, *filter)
		}
		return a.sessionTable(ctx, *filter)
	})
	command.AddCommand(newSessionsEnd(a))
	return command
}

func (a *app) sessionArray(ctx context.Context, filter client.Filter) error {
	array := newJSONArray(a.stdout)
	var failed error
	err := a.client().Sessions(ctx, filter, func(s client.Session) bool {
		failed = array.add(s)
		return failed == nil
	})
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	return array.end()
}

func (a *app) sessionTable(ctx context.Context, filter client.Filter) error {
	var group []client.Session
	var failed error
	written := false
	write := func() {
		written, failed = true, a.writeSessions(group)
		group = group[:0]
	}
	err := a.client().Sessions(ctx, filter, func(s client.Session) bool {
		if group = append(group, s); len(group) == sessionGroup {
			write()
		}
		return failed == nil
	})
	if err != nil {
		return err
	}
	if failed == nil && (!written || len(group) > 0) {
		write()
	}
	return failed
}

func (a *app) writeSessions(sessions []client.Session) error {
	slices.SortFunc(sessions, func(x, y client.Session) int {
		return cmp.Or(
			x.Private.Addr().Compare(y.Private.Addr()),
			cmp.Compare(x.Protocol, y.Protocol),
			x.Private.Compare(y.Private),
			x.Remote.Compare(y.Remote),
			x.External.Compare(y.External),
		)
	})
	t := newTable("PROTOCOL", "PRIVATE", "EXTERNAL", "REMOTE", "STATE", "ORIGIN", ">AGE", ">IDLE", "NAME")
	for _, s := range sessions {
		origin := s.Origin
		if s.Hairpin {
			origin += ", hairpin"
		}
		t.add(s.Protocol.String(), endpoint(s.Private), endpoint(s.External), endpoint(s.Remote),
			s.State, origin, span(s.Age), span(s.Idle), cmp.Or(s.Name, s.Host))
	}
	return t.write(a.stdout)
}
