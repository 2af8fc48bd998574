package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
)

// pins is where daemons pin what outlives them, a folder for each instance.
const pins = "/sys/fs/bpf/realmgate"

// daemon is a realmgate that was started.
type daemon struct {
	t        *testing.T
	gateway  *netns.Gateway
	command  *netns.Command // nil once it ended
	config   string         // its file
	instance string
	journal  string // the file that every start of it logs to
	old      bool   // it finds no tcx in the kernel
}

// start runs realmgate in the gateway's namespace and waits until it serves.
func (r *realm) start(configuration string) *daemon {
	r.t.Helper()
	return r.startAt(r.Gateway, r.ID(), configuration)
}

// startAt is start for a second gateway or instance.
func (r *realm) startAt(gateway *netns.Gateway, instance, configuration string) *daemon {
	r.t.Helper()
	d := r.prepare(gateway, instance, configuration)
	d.run()
	return d
}

// prepare makes a daemon that does not run yet. At the end of the test it is
// stopped, and what a killed one left is removed.
func (r *realm) prepare(gateway *netns.Gateway, instance, configuration string) *daemon {
	r.t.Helper()
	d := &daemon{
		t: r.t, gateway: gateway, instance: instance,
		config:  filepath.Join(r.directory, instance+".yaml"),
		journal: filepath.Join(r.directory, instance+".log"),
	}
	d.write(configuration)
	r.t.Cleanup(func() {
		d.stop()
		d.removeTraces()
		if d.t.Failed() {
			d.t.Logf("the log of %s:\n%s", d.instance, d.logged())
		}
	})
	return d
}

// removeTraces removes what every daemon leaves, its lock, and what a killed one
// does.
func (d *daemon) removeTraces() {
	_ = os.RemoveAll(filepath.Join(pins, d.instance))
	_ = os.Remove("/run/realmgate/" + d.instance + ".lock")
	_ = os.Remove(client.SocketPath(d.instance))
	_ = os.Remove("/var/lib/realmgate/" + d.instance + ".db")
	_ = os.Remove("/var/lib/realmgate/" + d.instance + ".unconfirmed.json")
	_ = os.RemoveAll("/var/lib/realmgate/" + d.instance + ".lists")
}

// write changes the daemon's configuration file.
func (d *daemon) write(configuration string) {
	d.t.Helper()
	if err := os.WriteFile(d.config, []byte(configuration), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.give()
}

// run starts the daemon, again or for the first time, and waits until it serves.
func (d *daemon) run(flags ...string) {
	d.t.Helper()
	arguments := append([]string{"run", "-c", d.config, "--instance", d.instance}, flags...)
	run := program
	if d.old {
		run = programWithoutTCX(d.t)
	}
	line := d.line(append([]string{run}, arguments...)...)
	d.launch(d.gateway.Command(context.Background(), line[0], line[1:]...))
}

func (d *daemon) launch(command *netns.Command) {
	d.t.Helper()
	d.launchWithin(20*time.Second, command)
}

// launchWithin waits for so long until it serves.
func (d *daemon) launchWithin(limit time.Duration, command *netns.Command) {
	d.t.Helper()
	d.give()
	log, err := os.OpenFile(d.journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close() // the process has its own copy
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.command = command
	eventually(d.t, limit, "the daemon serves", func() bool {
		_, err := d.tell("status")
		return err == nil
	})
}

// tell runs a realmgate command against the daemon.
func (d *daemon) tell(arguments ...string) (string, error) {
	d.give()
	command := d.gateway.Command(context.Background(), program, append(arguments, "--instance", d.instance)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// list runs a listing with -o json.
func list[T any](d *daemon, arguments ...string) T {
	d.t.Helper()
	out, err := d.tell(append(arguments, "-o", "json")...)
	if err != nil {
		d.t.Fatalf("realmgate %v: %v\n%s", arguments, err, out)
	}
	var value T
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		d.t.Fatalf("realmgate %v printed no JSON: %v\n%s", arguments, err, out)
	}
	return value
}

func (d *daemon) status() client.Status {
	d.t.Helper()
	return list[client.Status](d, "status")
}

// sessions lists what the filter flags let through.
func (d *daemon) sessions(filter ...string) []client.Session {
	d.t.Helper()
	return list[[]client.Session](d, append([]string{"sessions"}, filter...)...)
}

// counted is how many packets ended with the reason.
func (d *daemon) counted(reason model.Reason) uint64 {
	d.t.Helper()
	for _, r := range d.status().Reasons {
		if r.Reason == reason {
			return r.Packets
		}
	}
	return 0
}

// warning finds the line of status that says what to do and mentions what.
func (d *daemon) warning(what string) string {
	d.t.Helper()
	for _, line := range d.status().Warnings {
		if strings.Contains(line, what) {
			return line
		}
	}
	return ""
}

// logged is all that the daemon has logged, over all its starts.
func (d *daemon) logged() string {
	text, _ := os.ReadFile(d.journal)
	return string(text)
}

// end sends the signal and waits for the process to end.
func (d *daemon) end(signal syscall.Signal) {
	if d.command == nil {
		return
	}
	_ = d.command.Process.Signal(signal)
	_ = d.command.Wait()
	d.command = nil
}

// kill ends the daemon without any chance to clean up.
func (d *daemon) kill() { d.end(syscall.SIGKILL) }

// stop ends the daemon in good order.
func (d *daemon) stop() { d.end(syscall.SIGTERM) }

// awaited is how long something is waited for that has to come, and how long for what must not.
var awaited = map[bool]time.Duration{true: 15 * time.Second, false: 2 * time.Second}
