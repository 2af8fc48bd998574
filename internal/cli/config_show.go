package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

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
outbound address where none is given, stays out.`,
		Example: `  realmgate config show
  realmgate config show --effective -c /etc/realmgate.yaml`,
		Args: cobra.NoArgs,
	}
	var file string
	command.Flags().StringVarP(&file, "config", "c", "", "show what this `FILE` says instead")
	effective := command.Flags().Bool("effective", false, "with all defaults, and without comments")
	command.RunE = does(func(ctx context.Context) error {
		text, full, err := a.configTexts(ctx, file)
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

// configTexts are those of a file, or of the gateway where there is none.
func (a *app) configTexts(ctx context.Context, file string) (text, effective string, err error) {
	if file == "" {
		c, err := a.client().ConfigEditor().Show(ctx)
		return c.Text, c.Effective, err
	}
	d, err := config.Read(file)
	if err != nil {
		return "", "", err
	}
	full, err := d.Effective()
	return string(d.Text()), string(full), err
}
