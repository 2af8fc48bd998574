package jail

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// This program is also the command that tests follow: its first argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "as-command" {
		syscall.Exit(asCommand(os.Args[2], os.Args[3:])) // os.Exit takes a second with the race detector
	}
	os.Exit(m.Run())
}

func asCommand(does string, args []string) int {
	switch does {
	case "print":
		for _, a := range args {
			fmt.Println(a)
		}
	case "surroundings":
		folder, _ := os.Getwd()
		fmt.Println(folder)
		for _, e := range os.Environ() {
			fmt.Println(e)
		}
		_, err := os.Stdin.Read(make([]byte, 1))
		fmt.Println(err)
	case "fail":
		fmt.Fprint(os.Stderr, "first\nlast \x1b[31mwords\n")
		return 3
	case "flood": // without ever ending the last line
		long := strings.Repeat("x", 100_000)
		fmt.Printf("%s\n%s\nshort\n", long, long)
		for {
			fmt.Print(long)
		}
	case "hold": // the output, until the other end of its connection is closed
		fmt.Println("holds")
		hold(args[0], does)
	case "quiet": // as hold, without a line
		hold(args[0], does)
	case "family", "leave", "daemon": // with a child that holds the output too
		child := exec.Command(os.Args[0], "as-command", "hold", args[0])
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: does == "daemon"}
		if child.Start() != nil {
			return 1
		}
		hold(args[0], does)
		return 4
	case "silent": // closes its output and goes on
		_, _ = os.Stdout.Close(), os.Stderr.Close()
		hold(args[0], does)
	}
	return 0
}

// hold says who connects, and returns when the other end is closed.
func hold(socket, name string) {
	if c, err := net.Dial("unix", socket); err == nil {
		_, _ = fmt.Fprintln(c, name)
		_, _ = c.Read(make([]byte, 1))
	}
}

// running is a jail of this program, doing what it is told.
type running struct {
	*Jail
	*hand
	lines  chan string
	cancel func()
	done   chan struct{}
}

func run(t *testing.T, args ...string) *running {
	t.Helper()
	w := &Jail{options: Options{Command: append([]string{os.Args[0], "as-command"}, args...)}}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Jail: w, hand: newHand(), lines: make(chan string, 100), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		w.supervise(ctx, r.clock(ctx), func(line []byte) { r.lines <- string(line) })
	}()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// all returns the lines up to the end of the command.
func (r *running) all() (list []string) {
	<-r.asked
	for len(r.lines) > 0 {
		list = append(list, <-r.lines)
	}
	return list
}

// socket is where commands connect to; a connection ends when they do. accept returns the
// next by name.
func socket(t *testing.T) (path string, accept func() map[string]net.Conn) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	met := map[string]net.Conn{}
	return path, func() map[string]net.Conn {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		name, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		met[strings.TrimSpace(name)] = c
		return met
	}
}

// gone returns when the process at the other end has ended.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a process is left: %v", err)
	}
}
