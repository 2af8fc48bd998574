package cli

import (
	"context"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/daemon"
)

// commands makes every command.
var commands = []func(*app) *cobra.Command{
	newRun, newCheck, newConfig, newReload, newConfirm, newHandover, newPrepare,
	newStatus, newDoctor, newBugreport, newSessions, newPool, newHosts, newDrops, newObserve, newCapture, newChain, newBan, newLists, newJails, newEvents, newToken, newPage, newGeo, newExplain, newTrace,
	newDemo, newBench, newTune, newCompletion, newVersion,
}

// app is what the commands share.
type app struct {
	stdout, stderr io.Writer
	instance       instanceFlag
	socket         string

	// What tests replace.
	runGateway func(context.Context, daemon.Options) error
	now        func() time.Time
	zone       *time.Location
}

func newApp(stdout, stderr io.Writer) *app {
	return &app{
		stdout: stdout, stderr: stderr, instance: client.DefaultInstance,
		runGateway: daemon.Run, now: time.Now, zone: time.Local,
	}
}

// Main runs one command line and returns its exit code. SIGINT and SIGTERM end
// the command in good order.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return newApp(stdout, stderr).main(ctx, args)
}

func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	return a.report(command, err)
}

// root builds the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "realmgate",
		Short: "A gateway that lends public addresses by name",
		Long: `Realmgate is a gateway between a private realm and the Internet. People outside
reach the hosts behind it by name, through a small pool of public addresses that
are lent for a moment; hosts inside reach out through NAT.

Start with a configuration file (docs/reference/configuration.md):

  realmgate check -c realmgate.yaml
  realmgate run -c realmgate.yaml

Then, in another terminal, see what it does:

  realmgate status
  realmgate drops`,
		SilenceUsage:  true,
		SilenceErrors: true,
		// Our own errors name what is near.
		DisableSuggestions: true,
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	flags := root.PersistentFlags()
	flags.Var(&a.instance, "instance", "which gateway of this machine, by `NAME`")
	flags.StringVar(&a.socket, "socket", "", "`PATH` of the control socket, instead of the instance's own")
	for _, command := range commands {
		root.AddCommand(command(a))
	}
	for _, listing := range client.Listings() {
		root.AddCommand(newListing(a, listing))
	}
	root.SetHelpCommand(newHelp(root))
	return root
}

// client returns a client of the gateway that the global flags name.
func (a *app) client() *client.Client {
	return client.New(client.Options{Instance: string(a.instance), Socket: a.socket})
}

// does makes a command's function out of run, and tells its errors from those
// of the command line.
func does(run func(context.Context) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, _ []string) error {
		if err := run(command.Context()); err != nil {
			return runError{err}
		}
		return nil
	}
}
