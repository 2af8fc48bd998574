package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/config"
)

func newConfigShow(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "show",
		Short: "Show the configuration that is in force",
		Long: `Show the configuration that the running gateway has in force, with what commands
changed in chains. With -c FILE it is that of a file, and takes no gateway.

With --effective the defaults are filled in, all values are written as in the
reference, and comments are left out. What the machine decides, such as the
outbound address where none is given, stays out.

With --number it is an earlier one, of "realmgate config history".`,
		Example: `  realmgate config show
  realmgate config show --effective -c /etc/realmgate.yaml`,
		Args: cobra.NoArgs,
	}
	var file string
	command.Flags().StringVarP(&file, "config", "c", "", "show what this `FILE` says instead")
	var number numberFlag
	command.Flags().Var(&number, "number", "show this `NUMBER` of the history instead")
	command.MarkFlagsMutuallyExclusive("config", "number")
	effective := command.Flags().Bool("effective", false, "with all defaults, and without comments")
	command.RunE = does(func(ctx context.Context) error {
		text, full, err := a.configTexts(ctx, file, int(number))
		if err != nil {
			return err
		}
		if *effective {
			text = full
		}
		_, err = io.WriteString(a.stdout, text)
		return written(err)
	})
	return command
}

// configTexts are those of a file, or of the gateway where there is none: in force, or of a number of its history.
func (a *app) configTexts(ctx context.Context, file string, number int) (text, effective string, err error) {
	if file == "" {
		c, err := a.client().ConfigEditor().Show(ctx, number)
		return joined(c.Files), c.Effective, err
	}
	d, err := config.Read(file)
	if err != nil {
		return "", "", err
	}
	var files []client.ConfigFile
	for _, f := range d.Files() {
		files = append(files, client.ConfigFile{File: f.Path, Text: string(f.Text)})
	}
	full, err := d.Effective()
	return joined(files), string(full), err
}

// joined writes files one behind another: where there are several, each below its name.
func joined(files []client.ConfigFile) string {
	if len(files) == 1 {
		return files[0].Text
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "# %s\n%s\n", f.File, strings.TrimRight(f.Text, "\n"))
	}
	return b.String()
}
