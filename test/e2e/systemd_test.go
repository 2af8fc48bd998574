package e2e

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// supervisor hears what a gateway tells systemd.
type supervisor struct {
	*net.UnixConn
	t *testing.T
}

func newSupervisor(t *testing.T, at string) supervisor {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return supervisor{c, t}
}

// next is the next message, empty if none comes.
func (s supervisor) next(within time.Duration) string {
	s.t.Helper()
	_ = s.SetReadDeadline(time.Now().Add(within))
	message := make([]byte, 4096)
	n, err := s.Read(message)
	if err != nil {
		return ""
	}
	return string(message[:n])
}

// await skips what comes before a message that begins so.
func (s supervisor) await(begin string) {
	s.t.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
		if strings.HasPrefix(s.next(time.Until(end)), begin) {
			return
		}
	}
	s.t.Fatalf("%s was never told", begin)
}

// A gateway under systemd is ready when names are answered and not before, tells reloads, a handover and that it stops, and is
// silent when it hangs.
func TestSystemdIsTold(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	const watchdog = 2 * time.Second
	at := filepath.Join(r.directory, "notify")
	s := newSupervisor(t, at)
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	line := d.line("env", "NOTIFY_SOCKET="+at, "WATCHDOG_USEC=2000000", program, "run", "-c", d.config, "--instance", d.instance)
	command := r.Gateway.Command(context.Background(), line[0], line[1:]...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	d.command = command
	if first := s.next(20 * time.Second); first != "READY=1" {
		t.Fatalf("told first: %q", first)
	}
	r.mustReach(r.Clients[0], 0)
	for range 3 {
		if m := s.next(watchdog); !strings.HasPrefix(m, "WATCHDOG=1\nSTATUS=") {
			t.Errorf("told %q", m)
		}
	}
	for _, text := range []string{with(r.configuration(), "pool: {addresses: [none]}"), r.configuration()} {
		d.write(text)
		out, err := d.tell("reload")
		if good := text == r.configuration(); good != (err == nil) {
			t.Errorf("%v: %s", err, out)
		} else if good {
			s.await("RELOADING=1\nMONOTONIC_USEC=")
			s.await("READY=1")
		}
	}
	if out, err := d.tell("handover"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, m := range []string{"RELOADING=1\nMONOTONIC_USEC=", "READY=1", "WATCHDOG=1"} { // by the next program, which has the watchdog's time, too
		s.await(m)
	}
	_ = d.command.Process.Signal(syscall.SIGSTOP)
	for range 10 { // what was on its way
		if s.next(watchdog) == "" {
			break
		}
	}
	if m := s.next(watchdog); m != "" {
		t.Errorf("a gateway that hangs tells %q", m)
	}
	_ = d.command.Process.Signal(syscall.SIGCONT)
	s.await("WATCHDOG=1")
	d.stop()
	s.await("STOPPING=1")
}
