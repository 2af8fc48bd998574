package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Command is an exec.Cmd whose process starts inside a namespace. It enters
// the network namespace alone and keeps this process's mount namespace. It
// leads a process group of its own, so that a Ctrl-C reaches only this process,
// which then closes the lab. It is killed with the lab, and with this process
// (not if the lab was made with Keep).
//
// Start, Run, Output, CombinedOutput and Wait are those of exec.Cmd; Wait may
// be called from several goroutines, and more than once.
type Command struct {
	*exec.Cmd
	namespace *Namespace
	waiting   sync.Once
	waitError error
}

// Command returns the command to run name with args inside the namespace. When
// ctx ends, its process is killed.
func (n *Namespace) Command(ctx context.Context, name string, args ...string) *Command {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if n.lab.kept {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	// A process that inherited its output may outlive it: don't wait for that.
	cmd.WaitDelay = 2 * time.Second
	return &Command{Cmd: cmd, namespace: n}
}

// Start starts the process. After the lab's Close it returns ErrClosed.
func (c *Command) Start() error {
	n, l := c.namespace, c.namespace.lab
	// Held over the start, so that Close sees every process that there is.
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return ErrClosed
	}
	n.keeperOnce.Do(func() { n.keeper, n.keeperError = newKeeper(n.file) })
	if n.keeperError != nil {
		return n.keeperError
	}
	if err := n.keeper.do(c.Cmd.Start); err != nil {
		return fmt.Errorf("start in namespace %s: %w", n.name, err)
	}
	l.running[c] = struct{}{}
	return nil
}

// Wait waits for the process to end.
func (c *Command) Wait() error {
	c.waiting.Do(func() {
		c.waitError = c.Cmd.Wait()
		l := c.namespace.lab
		l.mutex.Lock()
		delete(l.running, c)
		l.mutex.Unlock()
	})
	return c.waitError
}

// Run starts the process and waits for its end.
func (c *Command) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the process and returns what it wrote to standard output. Where
// it fails, and Stderr is not set, the *exec.ExitError holds standard error.
func (c *Command) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("netns: Stdout is already set")
	}
	var output, complaint bytes.Buffer
	c.Stdout = &output
	if c.Stderr == nil {
		c.Stderr = &complaint
	}
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && complaint.Len() > 0 {
		exit.Stderr = complaint.Bytes()
	}
	return output.Bytes(), err
}

// CombinedOutput runs the process and returns what it wrote to standard output
// and standard error.
func (c *Command) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("netns: Stdout or Stderr is already set")
	}
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	err := c.Run()
	return output.Bytes(), err
}
