package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	firstWait = time.Second
	longWait  = time.Minute // at most, and how long a run must last to begin with firstWait again
	grace     = time.Second // for the last output of a command that ended
)

// supervisor runs a command again and again.
type supervisor struct {
	argv   []string
	clock  Clock
	lines  lines
	each   func(line []byte)
	ended  func(error) // a run ended, never without an error
	stderr func(line []byte)
	chunk  []byte
}

func (s *supervisor) run(ctx context.Context) {
	s.chunk = make([]byte, chunkSize)
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		begin := s.clock.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		s.ended(err)
		if s.clock.Now().Sub(begin) >= longWait {
			wait = firstWait
		}
		select {
		case <-ctx.Done():
			return
		case <-s.clock.After(wait):
		}
	}
}

// once runs the command until it ends or ctx does. Nothing of its process group is left
// then.
func (s *supervisor) once(ctx context.Context) error {
	out, outEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer closeAll(out, outEnd)
	complaints, complaintsEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	defer closeAll(complaints, complaintsEnd)
	command := &exec.Cmd{
		Path: s.argv[0], Args: s.argv, Dir: "/", Stdout: outEnd, Stderr: complaintsEnd,
		// What the daemon has in its own, such as secrets, is not the command's business.
		Env:         []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("the command does not start: %w", err)
	}
	closeAll(outEnd, complaintsEnd)

	exited, read, complained := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() { defer close(exited); waitFor(command.Process.Pid) }()
	go func() { defer close(read); s.read(out, &s.lines, s.each, s.chunk) }()
	go func() {
		defer close(complained)
		s.read(complaints, &lines{skipped: new(atomic.Uint64)}, s.stderr, make([]byte, 4096))
	}()
	select {
	case <-exited:
	case <-read: // it closed its output
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		select { // either follows the other at once where all is well
		case <-exited:
		case <-ctx.Done():
		case <-time.After(grace):
		}
	}
	// The process is not yet waited for, so that its number, which is the group's, can be
	// nobody else's.
	killed := syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	<-exited
	// What left the group may hold the pipes open for ever.
	until := time.Now().Add(grace)
	if ctx.Err() != nil {
		until = time.Now()
	}
	_, _ = out.SetReadDeadline(until), complaints.SetReadDeadline(until) // a pipe has deadlines
	<-read
	<-complained
	return ending(command.Wait(), killed)
}

func ending(err, killed error) error {
	switch {
	case err != nil:
		return fmt.Errorf("the command ended: %w", err)
	case killed != nil && !errors.Is(killed, syscall.ESRCH):
		return fmt.Errorf("the command ended, but not all that it started: %w", killed)
	}
	return errors.New("the command ended: exit status 0")
}

// read ends with the pipe, or its deadline.
func (s *supervisor) read(pipe *os.File, into *lines, each func([]byte), chunk []byte) {
	into.restart()
	for {
		n, err := pipe.Read(chunk)
		into.feed(chunk[:n], each)
		if err != nil {
			return
		}
	}
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

// closeAll closes pipes, also twice.
func closeAll(pipes ...*os.File) {
	for _, p := range pipes {
		_ = p.Close() // nothing is kept back in a pipe's end
	}
}
