package events

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/realmgate/realmgate/internal/process"
)

const (
	stallTime = 10 * time.Second // without taking a byte, until that is a fault
	lookEvery = time.Second      // whether a command still runs, while it takes nothing
)

// command writes lines to the standard input of a program, which is started when it does
// not run.
type command struct {
	argv     []string
	stall    time.Duration
	group    *process.Group // nil: it does not run
	in       *os.File
	stderr   *os.File
	lastWord *lastLine
	part     int // bytes of the next line that it has already
}

// deliver implements outlet.
func (c *command) deliver(ctx context.Context, lines [][]byte, fault func(error)) (int, error) {
	if c.group == nil {
		if err := c.start(); err != nil {
			return 0, err
		}
	}
	if c.exited() {
		return 0, c.end()
	}
	defer context.AfterFunc(ctx, func() { _ = c.in.SetWriteDeadline(time.Now()) })()
	for i, line := range lines {
		if err := c.write(ctx, append(line, '\n'), fault); err != nil {
			return i, err
		}
	}
	return len(lines), nil
}

// write returns when the program, or the pipe, has taken the whole line.
func (c *command) write(ctx context.Context, line []byte, fault func(error)) error {
	took, told := time.Now(), false
	for c.part < len(line) {
		_ = c.in.SetWriteDeadline(time.Now().Add(min(lookEvery, c.stall))) // a pipe has deadlines
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := c.in.Write(line[c.part:])
		c.part += n
		if n > 0 {
			took, told = time.Now(), false
		}
		switch {
		case err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || c.exited()):
			return c.end()
		case time.Since(took) >= c.stall && !told:
			told = true
			fault(fmt.Errorf("the command has read nothing for %v", c.stall))
		}
	}
	c.part = 0
	return nil
}

func (c *command) start() error {
	read, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	stderr, complaints, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return err
	}
	defer complaints.Close()
	group, err := process.Start(c.argv, read, nil, complaints)
	if err != nil {
		_, _ = in.Close(), stderr.Close()
		return err
	}
	c.group, c.in, c.stderr, c.part = group, in, stderr, 0
	c.lastWord = followLast(stderr)
	return nil
}

func (c *command) exited() bool {
	select {
	case <-c.group.Exited():
		return true
	default:
		return false
	}
}

// end leaves nothing of the program, and says how it ended.
func (c *command) end() error {
	_ = c.in.Close() // nothing is kept back in a pipe's end
	err := c.group.End()
	c.group = nil
	// What left the group may hold the pipe open for ever.
	_ = c.stderr.SetReadDeadline(time.Now().Add(lookEvery))
	said := c.lastWord.wait()
	_ = c.stderr.Close()
	if said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// ended implements outlet.
func (c *command) ended() <-chan struct{} {
	if c.group == nil {
		return nil
	}
	return c.group.Exited()
}

// close implements outlet. The program sees the end of its input.
func (c *command) close(ctx context.Context) error {
	if c.group == nil {
		return nil
	}
	_ = c.in.Close()
	select {
	case <-c.group.Exited():
		_ = c.end() // as it may, now
		return nil
	case <-ctx.Done():
		_ = c.end()
		return errors.New("the command did not end when its input did, and was killed")
	}
}
