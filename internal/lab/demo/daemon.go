package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// tailLines is how much of the gateway's log a failure shows.
const tailLines = 15

// daemon is the gateway's process: one at a time, several over the story.
type daemon struct {
	namespace  *netns.Gateway
	executable string
	instance   string
	config     string // path
	log        string // path
	client     *client.Client
	command    *netns.Command
	ended      chan struct{} // closed when the process has
	how        error         // it ended; read it after ended
}

// configure writes the configuration, for the next start or reload.
func (d *daemon) configure(text string) error {
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the gateway's configuration: %w", err)
	}
	return nil
}

// start starts the gateway and waits until it serves.
func (d *daemon) start(ctx context.Context) (client.Status, time.Duration, error) {
	began := time.Now()
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return client.Status{}, 0, fmt.Errorf("open the gateway's log: %w", err)
	}
	defer log.Close()
	// It is not killed when ctx ends, so that it can put things back.
	command := d.namespace.Command(context.Background(), d.executable, "run", "-c", d.config, "--instance", d.instance)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return client.Status{}, 0, fmt.Errorf("start the gateway: %w", err)
	}
	d.command, d.ended = command, make(chan struct{})
	go func() {
		d.how = command.Wait()
		close(d.ended)
	}()
	var status client.Status
	err = await(ctx, "the gateway serves", func() (bool, string, error) {
		select {
		case <-d.ended:
			return false, "", mismatch{"the gateway serves", "a process that stays", fmt.Sprintf("it ended: %v", d.how)}
		default:
		}
		var err error
		status, err = d.client.Status(ctx)
		return err == nil && status.PID == command.Process.Pid, fmt.Sprint(err), nil
	})
	return status, time.Since(began), err
}

// signal sends the process a signal and waits for its end.
func (d *daemon) signal(with syscall.Signal) error {
	if err := d.command.Process.Signal(with); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal the gateway: %w", err)
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-d.ended:
		return nil
	case <-limit.C:
		_ = d.command.Process.Kill() // it may have ended at last
		<-d.ended
		return mismatch{"the gateway ends after " + with.String(), fmt.Sprintf("within %s", patience), "it had to be killed"}
	}
}

// stop asks the process, if there is one, to end cleanly.
func (d *daemon) stop() error {
	if d.command == nil {
		return nil
	}
	if err := d.signal(syscall.SIGTERM); err != nil {
		return err
	}
	var exit *exec.ExitError
	if errors.As(d.how, &exit) && exit.ExitCode() < 0 {
		return nil // the signal came before it listened for one, and so before it changed anything
	}
	return d.how
}

// tail returns the end of the log.
func (d *daemon) tail() []string {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[max(0, len(lines)-tailLines):]
}

// sessions lists what a filter lets through.
func (d *daemon) sessions(ctx context.Context, filter client.Filter) ([]client.Session, error) {
	var list []client.Session
	err := d.client.Sessions(ctx, filter, func(s client.Session) bool {
		list = append(list, s)
		return true
	})
	return list, err
}
