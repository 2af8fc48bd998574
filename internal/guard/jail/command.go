package jail

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/process"
)

const (
	// grace is for the last output of a command that ended.
	grace = time.Second
	// steadyTime is how long a command that writes nothing has to run to be taken for well:
	// a quiet log may have no line for days.
	steadyTime = 5 * time.Second
)

// supervisor runs a command again and again.
type supervisor struct {
	argv   []string
	clock  Clock
	lines  lines
	each   func(line []byte)
	steady func()      // a run has lasted for steadyTime. Not while ended is called
	ended  func(error) // a run ended, never without an error
	stderr func(line []byte)
	chunk  []byte
}

// run waits for longer and longer between runs, but after one that lasted as long as the
// longest time.
func (s *supervisor) run(ctx context.Context) {
	s.chunk = make([]byte, chunkSize)
	for wait := process.FirstWait; ; wait = min(2*wait, process.LongWait) {
		begin := s.clock.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		s.ended(err)
		if s.clock.Now().Sub(begin) >= process.LongWait {
			wait = process.FirstWait
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
	group, err := process.Start(s.argv, nil, outEnd, complaintsEnd)
	if err != nil {
		return err
	}
	closeAll(outEnd, complaintsEnd)

	read, complained := make(chan struct{}), make(chan struct{})
	go func() { defer close(read); s.read(out, &s.lines, s.each, s.chunk) }()
	go func() {
		defer close(complained)
		s.read(complaints, &lines{skipped: new(atomic.Uint64)}, s.stderr, make([]byte, 4096))
	}()
	s.await(ctx, group, read)
	if ctx.Err() == nil {
		select { // either follows the other at once where all is well
		case <-group.Exited():
		case <-ctx.Done():
		case <-time.After(grace):
		}
	}
	ending := group.End()
	// What left the group may hold the pipes open for ever.
	until := time.Now().Add(grace)
	if ctx.Err() != nil {
		until = time.Now()
	}
	_, _ = out.SetReadDeadline(until), complaints.SetReadDeadline(until) // a pipe has deadlines
	<-read
	<-complained
	return ending
}

// await returns when the command has ended or closed its output, or ctx ends.
func (s *supervisor) await(ctx context.Context, group *process.Group, read <-chan struct{}) {
	steady := s.clock.After(steadyTime)
	for {
		select {
		case <-group.Exited():
			return
		case <-read:
			return
		case <-ctx.Done():
			return
		case <-steady:
			s.steady()
		}
	}
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

// closeAll closes pipes, also twice.
func closeAll(pipes ...*os.File) {
	for _, p := range pipes {
		_ = p.Close() // nothing is kept back in a pipe's end
	}
}
