package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench/splice"
)

// newBenchSplice is the proxy of the bench, as a process of its own.
func newBenchSplice() *cobra.Command {
	return &cobra.Command{
		Use: "splice ADDRESS NAME=HOST...", Hidden: true, Args: cobra.MinimumNArgs(2), //nolint:mnd // where, and one name
		RunE: func(command *cobra.Command, args []string) error {
			hosts := map[string]string{}
			for _, arg := range args[1:] {
				name, host, found := strings.Cut(arg, "=")
				if !found {
					return usageError(fmt.Sprintf("%q is not NAME=HOST", arg))
				}
				hosts[name] = host
			}
			var config net.ListenConfig
			listener, err := config.Listen(command.Context(), "tcp4", args[0])
			if err != nil {
				return runError{err}
			}
			if err := splice.Serve(command.Context(), listener, hosts); err != nil && !errors.Is(err, command.Context().Err()) {
				return runError{err}
			}
			return nil
		},
	}
}
