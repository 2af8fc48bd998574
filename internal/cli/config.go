package cli

import "github.com/spf13/cobra"

func newConfig(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "See and lay out the configuration",
		Long: `The configuration file says all that the gateway is to do. These commands lay it
out and say what it means; none of them changes what is in force.`,
		Example: `  realmgate config fmt -w /etc/realmgate.yaml`,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newConfigFormat(a), newConfigSchema(a))
	return command
}
