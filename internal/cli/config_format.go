package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/config"
)

func newConfigFormat(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "fmt [FILE]",
		Short: "Lay out a configuration file in canonical form",
		Long: `Lay out a configuration file in canonical form: two spaces a level, each value on
one line, comments of adjacent lines aligned. Brackets stay where they fit on one
line and have no comment in them. All comments stay, and what the file says.

The text is printed; without FILE it is read from standard input. With -w it is
written to FILE, which keeps its owner and mode, and nothing is printed.`,
		Example: `  realmgate config fmt /etc/realmgate.yaml
  realmgate config fmt -w /etc/realmgate.yaml`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError(fmt.Sprintf("%s takes one file, and got %q, too", command.CommandPath(), args[1]))
			}
			return nil
		},
	}
	write := command.Flags().BoolP("write", "w", false, "write the text to FILE, and print nothing")
	command.RunE = func(command *cobra.Command, args []string) error {
		if *write && len(args) == 0 {
			return usageError("give the file to write with -w")
		}
		return does(func(context.Context) error {
			name, text, err := readText(command, args)
			if err != nil {
				return err
			}
			made, err := config.Format(name, text)
			if err != nil {
				return err
			}
			if !*write {
				_, err = a.stdout.Write(made)
				return written(err)
			}
			if bytes.Equal(made, text) {
				return nil
			}
			return config.Replace(name, made)
		})(command, args)
	}
	return command
}

// readText reads a file, or standard input where there is none.
func readText(command *cobra.Command, args []string) (name string, text []byte, err error) {
	if len(args) > 0 {
		text, err = os.ReadFile(args[0])
		return args[0], text, err
	}
	if text, err = io.ReadAll(command.InOrStdin()); err != nil {
		err = fmt.Errorf("read standard input: %w", err)
	}
	return "standard input", text, err
}
