package cli

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

// sessionGroup is how many sessions are sorted and aligned together, so that a
// full gateway's million need no memory here.
const sessionGroup = 50_000

// sessionPage is how many a terminal is shown.
const sessionPage = 1000

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
array is not sorted. With --sort both are, and have 10,000 sessions at most. On a
terminal the table is the first 1,000. Where there are more, the last line says
what to add to see them.`,
		Example: `  realmgate sessions --host www.hosta.foo.example
  realmgate sessions --protocol tcp --port 80
  realmgate sessions --sort -idle --limit 20
  realmgate sessions -o json | jq length`,
		Args: cobra.NoArgs,
	}
	output, filter := outputFlag(command), filterFlags(command)
	var page client.Page
	command.Flags().IntVar(&page.Limit, "limit", 0, "at most `N` sessions; 0: all")
	command.Flags().StringVar(&page.Sort, "sort", "", "by `FIELD` of the JSON; -FIELD: the greatest first")
	command.Flags().StringVar(&page.Cursor, "cursor", "", "the page after the one that ended with `CURSOR`")
	command.RunE = does(func(ctx context.Context) error {
		if page.Limit < 0 {
			return usageError("--limit: use 0 or more")
		}
		if output.value == "table" && isTerminal(a.stdout) && !command.Flags().Changed("limit") {
			page.Limit = sessionPage
		}
		list := a.sessionTable
		if output.value == "json" {
			list = func(ctx context.Context, filter client.Filter, page client.Page) (string, error) {
				return sessionArray(ctx, a, filter, page)
			}
		}
		next, err := list(ctx, *filter, page)
		if err == nil && next != "" {
			_, _ = fmt.Fprintf(a.stderr, "there are more: add --cursor %s\n", next)
		}
		return err
	})
	command.AddCommand(newSessionsEnd(a))
	return command
}

func sessionArray(ctx context.Context, a *app, filter client.Filter, page client.Page) (string, error) {
	array := newJSONArray(a.stdout)
	var line []byte
	var failed error
	next, err := a.client().SessionPage(ctx, filter, page, func(s *client.Session) bool {
		if line, failed = s.AppendLine(line[:0]); failed == nil {
			failed = array.line(line)
		}
		return failed == nil
	})
	if err := cmp.Or(err, failed); err != nil {
		return "", err
	}
	return next, array.end()
}

// sessionTable reads a group of sessions while the one before is printed.
func (a *app) sessionTable(ctx context.Context, filter client.Filter, page client.Page) (string, error) {
	var group, spare []client.Session
	var failed error
	var printing chan error
	wait := func() {
		if printing != nil {
			failed = <-printing
		}
	}
	hand := func() {
		if wait(); failed != nil {
			return
		}
		printing = make(chan error, 1)
		go func(group []client.Session, printed chan<- error) {
			printed <- a.writeSessions(group, page.Sort != "")
		}(group, printing)
		group, spare = spare[:0], group
	}
	next, err := a.client().SessionPage(ctx, filter, page, func(s *client.Session) bool {
		if group = append(group, *s); len(group) == sessionGroup {
			hand()
		}
		return failed == nil
	})
	if err == nil && failed == nil && (printing == nil || len(group) > 0) {
		hand()
	}
	if failed == nil {
		wait()
	}
	return next, cmp.Or(err, failed)
}

// sessionOrder is a session's place in the table: key decides where it can, for sessions
// are large to compare and to move.
type sessionOrder struct {
	key  uint64
	this *client.Session
}

func (o sessionOrder) compare(p sessionOrder) int {
	if o.key != p.key {
		return cmp.Compare(o.key, p.key)
	}
	x, y := o.this, p.this
	return cmp.Or(
		x.Private.Addr().Compare(y.Private.Addr()),
		cmp.Compare(x.Protocol, y.Protocol),
		x.Private.Compare(y.Private),
		x.Remote.Compare(y.Remote),
		x.External.Compare(y.External),
	)
}

// sessionKey is private address, protocol and private port where they fit, else above all of these.
func sessionKey(s *client.Session) uint64 {
	address := s.Private.Addr()
	switch {
	case !address.IsValid():
		return 0
	case !address.Is4():
		return math.MaxUint64
	}
	octets := address.As4()
	return 1<<56 | uint64(binary.BigEndian.Uint32(octets[:]))<<24 | uint64(s.Protocol)<<16 | uint64(s.Private.Port())
}

func (a *app) writeSessions(sessions []client.Session, sorted bool) error {
	order := make([]sessionOrder, len(sessions))
	for i := range sessions {
		order[i] = sessionOrder{sessionKey(&sessions[i]), &sessions[i]}
	}
	if !sorted {
		slices.SortFunc(order, sessionOrder.compare)
	}
	t := newTable("PROTOCOL", "PRIVATE", "EXTERNAL", "REMOTE", "STATE", "ORIGIN", ">AGE", ">IDLE", "NAME")
	for _, o := range order {
		s := o.this
		origin := s.Origin
		if s.Hairpin {
			origin += ", hairpin"
		}
		t.add(s.Protocol.String(), endpoint(s.Private), endpoint(s.External), endpoint(s.Remote),
			s.State, origin, span(s.Age), span(s.Idle), cmp.Or(s.Name, s.Host))
	}
	return t.write(a.stdout)
}
