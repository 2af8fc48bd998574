package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/config"
)

func newConfigSchema(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Long: `Print the JSON Schema (draft 2020-12) of the configuration, by which editors
complete keys and values and mark mistakes. It lets through every good file. What
only "realmgate check" sees is how the parts of one fit together.`,
		Example: `  realmgate config schema >/etc/realmgate.schema.json`,
		Args:    cobra.NoArgs,
	}
	command.RunE = does(func(context.Context) error {
		text, err := config.JSONSchema()
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(text)
		return written(err)
	})
	return command
}
