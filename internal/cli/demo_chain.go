package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/demo"
)

func newDemoChain(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "chain",
		Short: "Show a chain of functions cut off who sends too much",
		Args:  cobra.NoArgs,
	}
	asJSON := command.Flags().Bool("json", false, "print one JSON array, an element for each step")
	command.RunE = does(func(ctx context.Context) error {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGPIPE)
		defer stop()
		_, err := demo.RunChain(ctx, demo.ChainOptions{Out: a.stdout, JSON: *asJSON, Colour: isTerminal(a.stdout)})
		return err
	})
	return command
}

var _ = errors.Join
var _ = fmt.Sprint
var _ io.Writer
var _ = os.Stdout
