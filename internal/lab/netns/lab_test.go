package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCloseLeavesNothing(t *testing.T) {
	before := findTraces(t)
	a, b := newPair(t)
	if err := exchange(a, b, "192.0.2.2"); err != nil {
		t.Fatal(err)
	}
	command := a.Command(t.Context(), "sleep", "1000")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if during := tracesOf(t, a.lab.ID()); len(during) != 3 { // two namespaces, a record
		t.Fatalf("the lab is %v", during)
	}
	if err := a.lab.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.lab.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	eventually(t, "threads leave the namespaces", func() bool { return len(threadsElsewhere()) == 0 })
	if left := tracesOf(t, a.lab.ID()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	// Other packages may run labs of their own beside this test, but all links
	// are born inside a lab.
	if after := findTraces(t); !slices.Equal(after.links, before.links) {
		t.Errorf("links after Close: %v, before: %v", after.links, before.links)
	}
}

func TestClosedLabRefuses(t *testing.T) {
	a, b := newPair(t)
	command := a.Command(t.Context(), "true")
	if err := a.lab.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.lab.Namespace("late"); !errors.Is(err, ErrClosed) {
		t.Errorf("Namespace: %v", err)
	}
	if err := command.Start(); !errors.Is(err, ErrClosed) {
		t.Errorf("Start: %v", err)
	}
	called := false
	if err := a.Do(func() error { called = true; return nil }); err == nil || called {
		t.Errorf("Do: %v, called %v", err, called)
	}
	// Were it to act on the namespace of this process, this would find lo.
	if err := b.Address("lo", "127.9.9.9/32"); err == nil {
		t.Error("Address: no error")
	}
}

func TestDoEndsItsThread(t *testing.T) {
	a, _ := newPair(t)
	for range 500 {
		err := a.Do(func() error {
			here, err := inodeOf("/proc/thread-self/ns/net")
			if err == nil && here != a.inode {
				err = errors.New("not inside the namespace")
			}
			if unix.Gettid() == os.Getpid() {
				err = errors.New("on the main thread, which cannot end")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "threads end", func() bool { return len(threadsElsewhere()) == 0 })
}

func TestDoPassesOnErrorsPanicsAndGoexit(t *testing.T) {
	a, _ := newPair(t)
	broken := errors.New("broken")
	if err := a.Do(func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "half way") || !strings.Contains(text, "lab_test.go") {
				t.Errorf("recovered %q", text)
			}
		}()
		_ = a.Do(func() error { panic("half way") })
	}()
	exited := make(chan bool)
	go func() {
		reached := false
		defer func() { exited <- !reached }()
		_ = a.Do(func() error { runtime.Goexit(); return nil })
		reached = true
	}()
	if !<-exited {
		t.Error("a Goexit in Do did not end the caller")
	}
}

func TestCommandsDieWithClose(t *testing.T) {
	a, _ := newPair(t)
	command := a.Command(t.Context(), "sh", "-c", "setsid sleep 1000 & echo $!; wait")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var grandchild int
	if _, err := fmt.Fscan(output, &grandchild); err != nil {
		t.Fatal(err)
	}
	if !alive(command.Process.Pid) || !alive(grandchild) {
		t.Fatal("the processes are not there")
	}
	if err := a.lab.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(command.Process.Pid) || alive(grandchild) {
		t.Error("processes outlive Close")
	}
	if err := command.Wait(); err == nil {
		t.Error("Wait says that a killed process succeeded")
	}
}

func TestCommandEntersTheNetworkNamespaceAlone(t *testing.T) {
	a, _ := newPair(t)
	output, err := a.Command(t.Context(), "sh", "-c", "readlink /proc/self/ns/mnt /proc/self/ns/net").Output()
	if err != nil {
		t.Fatal(err)
	}
	mount, _ := os.Readlink("/proc/self/ns/mnt")
	want := mount + "\nnet:[" + strconv.FormatUint(a.inode.number, 10) + "]\n"
	if string(output) != want {
		t.Errorf("got %q, want %q", output, want)
	}
	if _, err := a.Command(t.Context(), "sh", "-c", "echo no >&2; exit 4").Output(); err == nil {
		t.Error("no error from a command that fails")
	}
	output, err = a.Command(t.Context(), "sh", "-c", "echo out; echo err >&2").CombinedOutput()
	if err != nil || string(output) != "out\nerr\n" {
		t.Errorf("got %q, %v", output, err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	for _, prefix := range []string{"", "Demo", "a-b", "../x"} {
		if _, err := New(prefix); err == nil || errors.Is(err, ErrNotRoot) {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
	a, _ := newPair(t)
	for _, name := range []string{"", "-x", "a/b", "a"} { // a is there already
		if _, err := a.lab.Namespace(name); err == nil {
			t.Errorf("namespace %q: no error", name)
		}
	}
	if _, err := os.Stat(a.Path()); err != nil {
		t.Errorf("the refused name took the other with it: %v", err)
	}
}

func TestSweepRemovesWhatAPanicLeft(t *testing.T) {
	mine, _ := newPair(t)
	for name, unshare := range map[string]uintptr{"same mount namespace": 0, "own mount namespace": syscall.CLONE_NEWNS} {
		t.Run(name, func(t *testing.T) {
			c := runChild(t, "panic", unshare)
			if c.exitStatus != 2 || !strings.Contains(c.complaint, "the owner of a lab panics") {
				t.Fatalf("exit status %d: %s", c.exitStatus, c.complaint)
			}
			eventually(t, "the process dies with its parent", func() bool { return !alive(c.processes[0]) })
			if err := Sweep(); err != nil {
				t.Fatal(err)
			}
			// From another mount namespace the processes of that lab cannot be
			// told from others by the name of their namespace.
			if unshare == 0 && alive(c.processes[1]) {
				t.Error("the process's child outlives the sweep")
			}
			if unshare != 0 {
				_ = syscall.Kill(c.processes[1], syscall.SIGKILL)
			}
			if left := tracesOf(t, c.id); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			if _, err := os.Stat(mine.Path()); err != nil {
				t.Errorf("the sweep took a lab in use: %v", err)
			}
		})
	}
}

func TestWorksInItsOwnMountNamespace(t *testing.T) {
	newPair(t) // for root
	c := runChild(t, "exchange", syscall.CLONE_NEWNS)
	if c.exitStatus != 0 {
		t.Fatalf("exit status %d: %s", c.exitStatus, c.complaint)
	}
	if left := tracesOf(t, c.id); len(left) != 0 || alive(c.processes[0]) || alive(c.processes[1]) {
		t.Errorf("left: %v", left)
	}
}

func TestKeptLabStaysUntilRemoved(t *testing.T) {
	mine, _ := newPair(t)
	c := runChild(t, "keep", 0)
	if c.exitStatus != 0 {
		t.Fatalf("exit status %d: %s", c.exitStatus, c.complaint)
	}
	if err := Sweep(); err != nil {
		t.Fatal(err)
	}
	kept, err := Kept()
	if err != nil || !slices.Contains(kept, c.id) || slices.Contains(kept, mine.lab.ID()) {
		t.Errorf("Kept: %v, %v, want %s", kept, err, c.id)
	}
	if !alive(c.processes[0]) || !alive(c.processes[1]) || len(tracesOf(t, c.id)) != 3 {
		t.Errorf("processes or namespaces did not stay: %v", tracesOf(t, c.id))
	}
	if err := Remove(mine.lab.ID()); err == nil {
		t.Error("Remove took a lab in use")
	}
	if err := Remove(c.id); err != nil {
		t.Fatal(err)
	}
	if left := tracesOf(t, c.id); len(left) != 0 || alive(c.processes[0]) || alive(c.processes[1]) {
		t.Errorf("left: %v", left)
	}
	if err := Remove(c.id); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("second Remove: %v", err)
	}
}

func tracesOf(t *testing.T, id string) []string {
	found := findTraces(t)
	return slices.DeleteFunc(append(found.names, found.records...), func(path string) bool { return !strings.Contains(path, id) })
}
