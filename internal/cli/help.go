package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newHelp replaces cobra's own, which takes an unknown command for success.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		Long:    `Explain a command, as its --help does.`,
		Example: `  realmgate help drops`,
		RunE: func(_ *cobra.Command, args []string) error {
			command, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usageError(fmt.Sprintf("there is no command %q", strings.Join(args, " ")))
			}
			command.InitDefaultHelpFlag() // else it would be missing from its own text
			return command.Help()
		},
	}
}
