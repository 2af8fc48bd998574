package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/page"
)

func newPage(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "page",
		Short: "Look at the gateway with a browser",
		Long: `Serve the page of the gateway at an address of this machine that no other reaches,
and print a link to it. The link lets in once, within a minute; the browser may
then do what you may, for twelve hours or until this command ends.

From afar, choose a port and have ssh bring it to you:

  ssh -L 9471:127.0.0.1:9471 GATEWAY realmgate page --port 9471`,
		Example: `  realmgate page`,
		Args:    cobra.NoArgs,
	}
	var port uint16
	command.Flags().Uint16Var(&port, "port", 0, "`PORT` of 127.0.0.1 to serve it at; 0: any that is free")
	command.RunE = does(func(ctx context.Context) error {
		if _, err := a.client().Status(ctx); err != nil { // else the page would have nothing to show
			return err
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return fmt.Errorf("serve the page: %w", err)
		}
		log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		local := page.NewLocal(listener, client.Proxy(a.client(), log), log)
		if _, err := fmt.Fprintf(a.stdout, "%s\n", local.Link()); err != nil {
			return written(err)
		}
		_, _ = fmt.Fprintln(a.stderr, "Open this link within a minute. The page is there until you end this command with Ctrl-C.")
		return local.Serve(ctx)
	})
	return command
}
