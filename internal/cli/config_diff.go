package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

// errDiffers is that there are differences, which have been told.
var errDiffers = errors.New("the file differs from what is in force")

func newConfigDiff(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "diff",
		Short: "Say what a reload would change",
		Long: `Say what "realmgate reload" would change: services that open or close and how many
sessions end, keys whose values change, and those that need a restart. It compares
what the file means, with defaults filled in, not its text. Nothing is changed.

The exit code is 0 without a difference, 1 with some or where there is an error,
which then is told, too.`,
		Example: `  realmgate config diff
  realmgate config diff -o json`,
		Args: cobra.NoArgs,
	}
	output := outputFlag(command)
	command.RunE = does(func(ctx context.Context) error {
		d, err := a.client().ConfigEditor().Diff(ctx)
		if err != nil {
			return err
		}
		if output.value == "json" {
			err = writeJSON(a.stdout, d)
		} else {
			_, err = io.WriteString(a.stdout, tellDifferences(d))
		}
		if err == nil && len(d.Differences) > 0 {
			return errDiffers
		}
		return written(err)
	})
	return command
}

// tellDifferences writes a line for each, services first.
func tellDifferences(d client.ConfigDiff) string {
	if len(d.Differences) == 0 {
		return ""
	}
	var b strings.Builder
	for _, s := range d.Services {
		fmt.Fprintf(&b, "service %s of host %s", plain(s.Name), plain(s.Host))
		if len(s.Closes) > 0 {
			fmt.Fprintf(&b, " closes %s, %s", opens(s.Closes), many(s.Sessions, "session ends", "sessions end"))
		}
		if len(s.Opens) > 0 {
			fmt.Fprintf(&b, " opens %s", opens(s.Opens))
		}
		b.WriteByte('\n')
	}
	for _, k := range d.Differences {
		switch {
		case k.Was == "":
			fmt.Fprintf(&b, "+ %s: %s\n", plain(k.Key), plain(k.Is))
		case k.Is == "":
			fmt.Fprintf(&b, "- %s: %s\n", plain(k.Key), plain(k.Was))
		default:
			fmt.Fprintf(&b, "~ %s: %s, was %s\n", plain(k.Key), plain(k.Is), plain(k.Was))
		}
	}
	if d.Left > 0 {
		fmt.Fprintf(&b, "and %s\n", many(d.Left, "more difference", "more differences"))
	}
	for _, key := range d.Restart {
		fmt.Fprintf(&b, "%s needs a restart: a reload is refused\n", plain(key))
	}
	return b.String()
}
