package e2e

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Questions that come while the name server cannot run wait for it; none is lost.
// More than 256 at once could be lost by the veth before any socket sees them.
func TestBurstOfQuestions(t *testing.T) {
	const questions = 240
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	d := r.start(r.configuration())
	connection, err := r.Clients[0].DialContext(context.Background(), "udp4", r.Gateway.PublicAddress.String()+":53")
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	d.suspend()
	err = askAtOnce(connection, questions)
	d.resume()
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 512)
	_ = connection.SetReadDeadline(time.Now().Add(20 * time.Second))
	for got := range questions {
		if _, err := connection.Read(buffer); err != nil {
			t.Fatalf("%d of %d questions at once were answered: %v", got, questions, err)
		}
	}
}

// askAtOnce sends n questions without waiting for an answer.
func askAtOnce(connection net.Conn, n int) error {
	for id := range n {
		if _, err := connection.Write(question(uint16(id), "www.host1.foo.example.")); err != nil {
			return err
		}
	}
	return nil
}

// suspend returns when no thread of the daemon runs.
func (d *daemon) suspend() {
	d.t.Helper()
	if err := d.command.Process.Signal(syscall.SIGSTOP); err != nil {
		d.t.Fatal(err)
	}
	for {
		err := unix.Waitid(unix.P_PID, d.command.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			d.t.Fatal(err)
		}
	}
}

func (d *daemon) resume() {
	d.t.Helper()
	if err := d.command.Process.Signal(syscall.SIGCONT); err != nil {
		d.t.Fatal(err)
	}
}
