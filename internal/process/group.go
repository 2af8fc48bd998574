package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// How long to wait before a program that ended is started again.
const (
	FirstWait = time.Second
	LongWait  = time.Minute // at most
)

// Group is a program that was started, and what it starts itself.
type Group struct {
	command *exec.Cmd
	exited  chan struct{}
}

// Start runs argv, whose first part is a path. Files that are nil are /dev/null; the caller
// closes its own ends of the others.
func Start(argv []string, stdin, stdout, stderr *os.File) (*Group, error) {
	command := &exec.Cmd{
		Path: argv[0], Args: argv, Dir: "/",
		// What the daemon has in its own, such as secrets, is not the program's business.
		Env:         []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	// A nil *os.File in an interface would not be nil.
	if stdin != nil {
		command.Stdin = stdin
	}
	if stdout != nil {
		command.Stdout = stdout
	}
	if stderr != nil {
		command.Stderr = stderr
	}
	if err := startWithout(command); err != nil {
		return nil, fmt.Errorf("the command does not start: %w", err)
	}
	g := &Group{command, make(chan struct{})}
	go func() { defer close(g.exited); waitFor(command.Process.Pid) }()
	return g, nil
}

// Exited is closed when the program has ended; others of its group may go on.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// End kills what is left of the group, and returns how the program ended, never nil.
func (g *Group) End() error {
	// The program is not yet waited for, so that its number, which is the group's, can be
	// nobody else's.
	killed := syscall.Kill(-g.command.Process.Pid, syscall.SIGKILL)
	<-g.exited
	switch err := g.command.Wait(); {
	case err != nil:
		return fmt.Errorf("the command ended: %w", err)
	case killed != nil && !errors.Is(killed, syscall.ESRCH):
		return fmt.Errorf("the command ended, but not all that it started: %w", killed)
	}
	return errors.New("the command ended: exit status 0")
}

// waitFor returns when a child has ended, and leaves it to be waited for.
func waitFor(child int) {
	const one = 1 // P_PID
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_WAITID, one, uintptr(child), 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if err != syscall.EINTR {
			return
		}
	}
}
