package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

// How long the version that takes over may take until it answers, and how often it is asked.
const (
	takeOverTime  = 30 * time.Second
	takeOverEvery = 50 * time.Millisecond
)

func newHandover(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "handover",
		Short: "Have the version that is installed now take over, with all sessions",
		Long: `Have the program that is now where the running gateway's was take over from it, as
after an upgrade. Its process goes on with that program, and so do open sessions;
for some tenths of a second no names are answered.

First that program says whether it can: whether it takes the configuration, and the
tables as they are, and the kernel its programs. If not, nothing changes, and the
exit code is 1.`,
		Example: "  realmgate handover",
		Args:    cobra.NoArgs,
	}
	command.RunE = does(func(ctx context.Context) error {
		c := a.client()
		before, err := c.Status(ctx)
		if err != nil {
			return err
		}
		left, err := c.Handover(ctx)
		if err != nil {
			return err
		}
		next, err := nextStatus(ctx, c, before.Started)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "version %s has taken over from %s, with %s\n", next.Version, before.Version, many(left.Sessions, "session", "sessions"))
		return written(err)
	})
	return command
}

// nextStatus is that of the gateway which follows one that started before.
func nextStatus(ctx context.Context, c *client.Client, before time.Time) (client.Status, error) {
	late := time.After(takeOverTime)
	tick := time.NewTicker(takeOverEvery)
	defer tick.Stop()
	for {
		if s, err := c.Status(ctx); err == nil && !s.Started.Equal(before) {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return client.Status{}, ctx.Err()
		case <-late:
			return client.Status{}, errors.New("the gateway has stopped to hand over, and nobody answers since: see its log")
		case <-tick.C:
		}
	}
}
