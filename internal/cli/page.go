package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

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

From afar, choose a port and have ssh bring it to you; -t ends the command with ssh:

  ssh -t -L 9471:127.0.0.1:9471 GATEWAY realmgate page --port 9471`,
		Example: `  realmgate page`,
		Args:    cobra.NoArgs,
	}
	var port uint16
	command.Flags().Uint16Var(&port, "port", 0, "`PORT` of 127.0.0.1 to serve it at; 0: any of an address of its own")
	command.RunE = does(func(ctx context.Context) error {
		if _, err := a.client().Status(ctx); err != nil { // else the page would have nothing to show
			return err
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", loopback(port).String())
		if err != nil {
			return fmt.Errorf("serve the page: %w", err)
		}
		log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		local := page.NewLocal(listener, client.Proxy(a.client(), log), log)
		if _, err := fmt.Fprintf(a.stdout, "%s\n", local.Link()); err != nil {
			return written(err)
		}
		_, _ = fmt.Fprintln(a.stderr, "Open this link within a minute. The page is there until you end this command with Ctrl-C.")
		ctx, end := untilHangup(ctx, a.stdout)
		defer end()
		return local.Serve(ctx)
	})
	return command
}

// loopback is where the page is served. Browsers send its cookie to all ports of an address, whoever listens there: where nobody has
// chosen the port, the address is one that no other program has.
func loopback(port uint16) netip.AddrPort {
	if port != 0 {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	}
	octet := func() byte { return byte(1 + rand.IntN(254)) } //nolint:gosec // of two programs that had one, each still needs a link
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, octet(), octet(), octet()}), 0)
}

// lookEvery is how soon it is seen that ctx has ended.
const lookEvery = 500 // ms

// untilHangup ends when nobody reads what is written to a pipe or a socket any more, as when an ssh without a terminal has ended.
func untilHangup(ctx context.Context, out io.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	file, ok := out.(*os.File)
	var about unix.Stat_t
	if !ok || unix.Fstat(int(file.Fd()), &about) != nil || about.Mode&unix.S_IFMT != unix.S_IFIFO && about.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return ctx, cancel
	}
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			look := []unix.PollFd{{Fd: int32(file.Fd())}} //nolint:gosec // a descriptor
			if _, err := unix.Poll(look, lookEvery); err != nil && !errors.Is(err, unix.EINTR) {
				<-ctx.Done() // it goes on without
			}
			if look[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				return
			}
		}
	}()
	return ctx, cancel
}
