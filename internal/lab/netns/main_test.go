package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVariable makes the test binary play the owner of a lab that dies, which
// a test cannot do to itself.
const childVariable = "REALMGATE_LAB_CHILD"

func TestMain(m *testing.M) {
	if part := os.Getenv(childVariable); part != "" {
		playChild(part)
		return
	}
	os.Exit(m.Run())
}

// playChild makes a lab with a process and a process's child in it, prints the
// id and the process ids, and ends as told.
func playChild(part string) {
	var options []Option
	if part == "keep" {
		options = append(options, Keep())
	}
	l, err := New("child", options...)
	check(err)
	a, err := l.Namespace("a")
	check(err)
	b, err := l.Namespace("b")
	check(err)
	check(pair(l, a, b))
	command := a.Command(context.Background(), "sh", "-c", "sleep 1000 & echo $!; wait")
	output, err := command.StdoutPipe()
	check(err)
	check(command.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	check(err)
	fmt.Println(l.ID(), command.Process.Pid, strings.TrimSpace(line))
	switch part {
	case "panic": // where no deferred function of main runs
		go panic("the owner of a lab panics")
		select {}
	case "exchange":
		check(exchange(a, b, "192.0.2.2"))
		check(l.Close())
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// child is what playChild printed.
type child struct {
	id         string
	processes  []int
	exitStatus int
	complaint  string
}

func runChild(t *testing.T, part string, unshare uintptr) child {
	t.Helper()
	var complaint strings.Builder
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+part)
	cmd.Stderr = &complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unshare}
	output, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	c := child{exitStatus: cmd.ProcessState.ExitCode(), complaint: complaint.String()}
	var pids [2]int
	if _, err := fmt.Sscan(string(output), &c.id, &pids[0], &pids[1]); err != nil {
		t.Fatalf("the child wrote %q and %q", output, c.complaint)
	}
	c.processes = pids[:]
	return c
}

// pair joins two namespaces as 192.0.2.1 and 192.0.2.2.
func pair(l *Lab, a, b *Namespace, options ...VethOption) error {
	for _, step := range []func() error{
		func() error { return l.Veth(a, "eth0", b, "eth0", options...) },
		func() error { return a.Address("eth0", "192.0.2.1/24") },
		func() error { return b.Address("eth0", "192.0.2.2/24") },
		func() error { return a.Up("eth0") },
		func() error { return b.Up("eth0") },
		a.WaitUp,
		b.WaitUp,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// closeAfter is test/lab's.
func closeAfter(t *testing.T, l *Lab, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNotRoot) && os.Getenv("CI") == "":
		t.Skipf("%v", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// newPair returns two namespaces that pair joined.
func newPair(t *testing.T, options ...VethOption) (a, b *Namespace) {
	t.Helper()
	l, err := New("test")
	closeAfter(t, l, err)
	if a, err = l.Namespace("a"); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Namespace("b"); err != nil {
		t.Fatal(err)
	}
	if err := pair(l, a, b, options...); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// exchange sends a datagram from one namespace to address, which another has,
// and back.
func exchange(from, to *Namespace, address string) error {
	server, err := to.ListenPacket("udp4", address+":7")
	if err != nil {
		return err
	}
	defer server.Close()
	client, err := from.DialContext(context.Background(), "udp4", address+":7")
	if err != nil {
		return err
	}
	defer client.Close()
	deadline := time.Now().Add(5 * time.Second)
	_ = server.SetDeadline(deadline)
	_ = client.SetDeadline(deadline)
	if _, err := client.Write([]byte(from.Name())); err != nil {
		return err
	}
	buffer := make([]byte, 1500)
	n, asker, err := server.ReadFrom(buffer)
	if err != nil {
		return fmt.Errorf("question from %s to %s: %w", from.Name(), address, err)
	}
	if _, err := server.WriteTo(buffer[:n], asker); err != nil {
		return err
	}
	if n, err = client.Read(buffer); err != nil || string(buffer[:n]) != from.Name() {
		return fmt.Errorf("answer from %s to %s: %q, %w", address, from.Name(), buffer[:n], err)
	}
	return nil
}

// exchangeTo is exchange for addresses in tables.
func exchangeTo(t *testing.T, from, to *Namespace, address netip.Addr) {
	t.Helper()
	if err := exchange(from, to, address.String()); err != nil {
		t.Error(err)
	}
}

// traces is what a lab could leave: files of namespaces and records, and links
// in this process's own namespace.
type traces struct{ names, records, links []string }

func findTraces(t *testing.T) traces {
	t.Helper()
	var found traces
	found.names, _ = filepath.Glob(filepath.Join(namespaceDirectory, "rg-*"))
	found.records, _ = filepath.Glob(filepath.Join(recordDirectory, "*"))
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		found.links = append(found.links, link.Name)
	}
	return found
}

// threadsElsewhere returns the threads of this process that are in a network
// namespace other than the parent process's.
func threadsElsewhere() []string {
	home, _ := inodeOf("/proc/" + strconv.Itoa(os.Getppid()) + "/ns/net")
	threads, _ := filepath.Glob("/proc/self/task/*/ns/net")
	return slices.DeleteFunc(threads, func(path string) bool {
		node, err := inodeOf(path)
		return err != nil || node == home // err: the thread has ended
	})
}

// eventually waits for a condition that another thread or process brings about.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	err := poll(10*time.Second, func() (bool, error) {
		runtime.Gosched()
		return f(), nil
	})
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
