package events

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// subscriber binds a port, with CURVE where it is given a key, tells its address, and writes the messages of a topic.
const subscriber = `
import sys, zmq
from zmq.auth.thread import ThreadAuthenticator
context = zmq.Context()
socket = context.socket(zmq.SUB)
if len(sys.argv) > 1:
    auth = ThreadAuthenticator(context)
    auth.start()
    auth.configure_curve(domain="*", location=zmq.auth.CURVE_ALLOW_ANY)
    public, secret = zmq.curve_keypair()
    open(sys.argv[1], "wb").write(public)
    socket.curve_server, socket.curve_publickey, socket.curve_secretkey = True, public, secret
socket.subscribe(b"unban")
print("tcp://127.0.0.1:%d" % socket.bind_to_random_port("tcp://127.0.0.1"), flush=True)
while True:
    print(b" ".join(socket.recv_multipart()).decode(), flush=True)
`

// The example's events reach who subscribes to their kind, also encrypted.
func TestZMQExamplePublishes(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3" // Debian's, which has its modules
	err := exec.CommandContext(t.Context(), python, "-c", "import zmq").Run()
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("python3-zmq is not installed: tools/deps.sh")
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("../../examples/events/zmq_publish.py")
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "server.key")
	for _, keys := range [][]string{nil, {key}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		hears := exec.CommandContext(ctx, python, append([]string{"-c", subscriber}, keys...)...) //nolint:gosec // the test's own
		out, err := hears.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		hears.Stderr = os.Stderr
		if err := hears.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			t.Fatal("nobody listens")
		}
		argv := []string{python, program}
		if len(keys) > 0 {
			argv = append(argv, "--server-key", key)
		}
		c := &command{argv: append(argv, lines.Text()), stall: stallTime}
		heard := make(chan string)
		go func() {
			if lines.Scan() {
				heard <- lines.Text()
			}
			close(heard)
		}()
		told := ""
		for tick := time.NewTicker(50 * time.Millisecond); told == "" && ctx.Err() == nil; { // what is sent before they met is lost
			mustTake(t, c, `{"kind":"ban","sequence":1}`, `{"kind":"unban","sequence":2}`)
			select {
			case told = <-heard:
			case <-tick.C:
			}
		}
		if want := `unban {"kind":"unban","sequence":2}`; strings.TrimSpace(told) != want {
			t.Errorf("with keys %v is heard %q, want %q", keys, told, want)
		}
		if err := c.close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		_ = hears.Wait() // it is killed
	}
}
