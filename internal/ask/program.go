package ask

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	mostAnswer    = 4096 // octets of a line
	mostQuestions = mostFlows
	dialAgain     = 50 * time.Millisecond // doubled up to:
	dialSeldom    = time.Second
	writeTime     = 5 * time.Second // for a program that does not read; then it is called anew
)

// program is the connection to a program, which is made again whenever it ends.
type program struct {
	socket    string
	questions chan Question // to be written; one that finds no room is not asked, and its flow waits in vain
	// connected and lost hear that there is a program, and that there is none any more and why; heard what it says, one at a time.
	connected func()
	lost      func(err error)
	heard     func(Answer) error
}

func newProgram(socket string) *program {
	return &program{socket: socket, questions: make(chan Question, mostQuestions)}
}

// put has a question written. It does not wait.
func (p *program) put(q Question) {
	select {
	case p.questions <- q:
	default:
	}
}

// run speaks with the program until ctx ends.
func (p *program) run(ctx context.Context) {
	wait := dialAgain
	for ctx.Err() == nil {
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
		if err == nil {
			wait = dialAgain
			err = p.speak(ctx, c)
		}
		if ctx.Err() != nil {
			return
		}
		p.lost(err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, dialSeldom)
	}
}

// speak serves one connection, and says why it ended.
func (p *program) speak(ctx context.Context, c net.Conn) error {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	for len(p.questions) > 0 { // of the connection before: they are put again
		<-p.questions
	}
	p.connected()
	own, end := context.WithCancel(ctx)
	var writing sync.WaitGroup
	var failed error
	writing.Go(func() {
		if failed = p.write(own, c); failed != nil {
			_ = c.Close() // so that read ends
		}
	})
	err := p.read(c)
	end()
	_ = c.Close()
	writing.Wait()
	if failed != nil {
		return failed
	}
	return err
}

// write writes questions, and what is in the buffer as soon as there is no other.
func (p *program) write(ctx context.Context, c net.Conn) error {
	buffered := bufio.NewWriterSize(c, 1<<16)
	lines := json.NewEncoder(buffered)
	for {
		select {
		case <-ctx.Done():
			return nil
		case q := <-p.questions:
			if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
				return err
			}
			if err := lines.Encode(&q); err != nil {
				return err
			}
			if len(p.questions) > 0 {
				continue
			}
			if err := buffered.Flush(); err != nil {
				return err
			}
		}
	}
}

var errEnded = errors.New("the program has ended the connection")

// read takes answers in until the connection ends. After a line that cannot be read none is believed.
func (p *program) read(c net.Conn) error {
	lines := bufio.NewReaderSize(c, mostAnswer)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return errEnded
		}
		if err != nil {
			return err
		}
		answer, err := parseAnswer(line)
		if err != nil {
			return err
		}
		if err := p.heard(answer); err != nil {
			return err
		}
	}
}
