package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newCompletion replaces cobra's own, which takes an unknown shell for success.
func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands in a shell",
		Long: `Print the script by which a shell, bash, zsh or fish, completes commands and
flags of this program. It goes where the shell looks for such scripts; bash has
to have the package bash-completion.`,
		Example: `  realmgate completion bash >/usr/share/bash-completion/completions/realmgate
  realmgate completion zsh >/usr/local/share/zsh/site-functions/_realmgate
  realmgate completion fish >/usr/share/fish/vendor_completions.d/realmgate.fish`,
		Args:      takes("a shell: bash, zsh or fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(command *cobra.Command, args []string) error {
			root := command.Root()
			var err error
			switch args[0] {
			case "bash":
				err = root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				err = root.GenZshCompletion(a.stdout)
			case "fish":
				err = root.GenFishCompletion(a.stdout, true)
			default:
				return usageError(fmt.Sprintf("there is no completion for %q: give bash, zsh or fish", args[0]))
			}
			if err != nil {
				return runError{written(err)}
			}
			return nil
		},
	}
}
