package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/daemon"
	"github.com/realmgate/realmgate/internal/handover"
)

func newRun(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run the gateway until it is told to stop",
		Long: `Run the gateway in the foreground. It needs root, or CAP_BPF, CAP_NET_ADMIN,
CAP_PERFMON and, for port 53, CAP_NET_BIND_SERVICE.

SIGINT (Ctrl-C) and SIGTERM stop it: the data plane is taken down, and what was
changed on this machine is put back. SIGHUP does what "realmgate reload" does. A
gateway that was killed leaves its data plane at work; the next one of the same
instance takes it over with all sessions.

The log goes to standard error.`,
		Example: `  realmgate run -c /etc/realmgate.yaml
  realmgate run -c lab.yaml --instance lab --log-level debug`,
		Args: cobra.NoArgs,
	}
	var file configFlag
	file.add(command)
	keep := command.Flags().Bool("keep-dataplane", false, "leave the data plane and its sessions at work after a stop, for the next start to take over")
	level := &wordFlag{value: "info", words: []string{"debug", "info", "warn", "error"}}
	command.Flags().Var(level, "log-level", "least `LEVEL` to log: debug, info, warn or error")
	format := &wordFlag{value: "text", words: []string{"text", "json"}}
	command.Flags().Var(format, "log-format", "`FORMAT` of the log: text or json")

	command.RunE = does(func(ctx context.Context) error {
		if err := file.want(); err != nil {
			return err
		}
		// Absolute, as whoever reloads may stand in another directory.
		path, err := filepath.Abs(string(file))
		if err != nil {
			return fmt.Errorf("find the configuration %s: %w", file, err)
		}
		socket := a.socket
		if socket == "" {
			socket = client.SocketPath(string(a.instance))
		}
		next, err := nextProgram()
		if err != nil {
			return err
		}
		return a.runGateway(ctx, daemon.Options{
			ConfigFile: path, Instance: string(a.instance), Socket: socket, KeepDataplane: *keep,
			Next: next, Logger: newLogger(a.stderr, level.value, format.value),
		})
	})
	return command
}

// nextProgram is what is where this program is now, later: with its arguments and what its environment is before anything is
// taken out of that.
func nextProgram() (*handover.Program, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return &handover.Program{Path: path, Arguments: os.Args, Environment: os.Environ()}, nil
}

func newLogger(w io.Writer, level, format string) *slog.Logger {
	options := &slog.HandlerOptions{}
	least := slog.LevelInfo
	_ = least.UnmarshalText([]byte(level)) // the flag took only words that it knows
	options.Level = least
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
