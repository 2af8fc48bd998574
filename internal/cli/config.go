package cli

import "github.com/spf13/cobra"

func newConfig(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "See, compare and lay out the configuration, and go back",
		Long: `The configuration file says all that the gateway is to do. These commands lay it
out, and say what it means and what is in force. One of them goes back to what was.`,
		Example: `  realmgate config fmt -w /etc/realmgate.yaml
  realmgate config diff`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newConfigDiff(a), newConfigFormat(a), newConfigHistory(a), newConfigRollback(a), newConfigSchema(a), newConfigShow(a))
	return command
}
