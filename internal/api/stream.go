package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

const (
	streamBuffer = 64 << 10         // bytes gathered before they are sent
	streamStall  = 30 * time.Second // a client that takes nothing for so long is cut off
	dropQueue    = 1024             // drops waiting for a slow client

	sessionsToACheck = 256 // between two looks whether the client is there; a power of two
)

var errStopping = errors.New("the gateway is stopping")

// stream writes one JSON value per line. Nothing is sent, not even the status,
// before the buffer is full or flush is called.
type stream struct {
	ctx    context.Context
	w      http.ResponseWriter
	conn   *http.ResponseController
	buffer *bufio.Writer
	sent   bool
	lines  int
	err    error // the first: the client has gone, or a value cannot be written
}

func newStream(w http.ResponseWriter, r *http.Request) *stream {
	s := &stream{ctx: r.Context(), w: w, conn: http.NewResponseController(w)}
	s.buffer = bufio.NewWriterSize(s, streamBuffer)
	return s
}

// Write sends a full buffer. Only the buffer calls it.
func (s *stream) Write(p []byte) (int, error) {
	if !s.sent {
		s.sent = true
		s.w.Header().Set("Content-Type", "application/x-ndjson")
	}
	// Without the deadline a client that stands still would hold the gateway's
	// walk through its tables for ever. A recorder in a test has none.
	_ = s.conn.SetWriteDeadline(time.Now().Add(streamStall))
	return s.w.Write(p)
}

// add writes one line and reports whether the client wants more.
func (s *stream) add(value any) bool {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil {
		return false
	}
	line, err := json.Marshal(value)
	return s.line(line, err)
}

// addSession is add for a session.
func (s *stream) addSession(session *Session) bool {
	if s.err == nil && s.lines&(sessionsToACheck-1) == 0 {
		s.err = s.ctx.Err()
	}
	if s.err != nil {
		return false
	}
	line, err := session.AppendLine(s.buffer.AvailableBuffer())
	return s.line(line, err)
}

func (s *stream) line(line []byte, err error) bool {
	if err == nil {
		_, err = s.buffer.Write(append(line, '\n'))
	}
	s.lines++
	s.err = err
	return err == nil
}

// flush sends what is gathered, and the headers when that is nothing.
func (s *stream) flush() bool {
	if s.err == nil {
		if s.buffer.Buffered() == 0 {
			_, s.err = s.Write(nil)
		} else {
			s.err = s.buffer.Flush()
		}
		_ = s.conn.Flush() // a recorder that cannot flush needs none
	}
	_ = s.conn.SetWriteDeadline(time.Time{}) // in HTTP/2 it would end a stream in which nothing happens
	return s.err == nil
}

// finish ends the stream. It returns err when it can still be sent as a status,
// and otherwise sends it as the last line.
func (s *stream) finish(err error) error {
	if err == nil {
		err = s.err
	}
	if err != nil && s.ctx.Err() != nil {
		err = errStopping // or the client has gone, and nobody reads this
		if errors.Is(context.Cause(s.ctx), errNoMore) {
			err = errNoMore
		}
	}
	if err != nil && !s.sent {
		return err
	}
	if err != nil {
		line, _ := json.Marshal(Failed{problemOf(err)}) // strings and numbers always can be
		_, _ = s.buffer.Write(append(line, '\n'))
	}
	if s.buffer.Flush() == nil && !s.sent {
		_, _ = s.Write(nil)
	}
	_ = s.conn.SetWriteDeadline(time.Time{}) // the connection may serve again
	return nil
}

// drops never makes the gateway wait: what a slow client does not take in time
// is left out of the sample.
func (h handler) drops(w http.ResponseWriter, r *http.Request, query url.Values) error {
	filter, err := wantFilter(query)
	if err != nil {
		return err
	}
	s := newStream(w, r)
	s.flush() // the client learns that it is listening
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	queue, written := make(chan Drop, dropQueue), make(chan struct{})
	go func() {
		defer close(written)
		defer cancel()
		for drop := range queue {
			if !s.add(drop) || len(queue) == 0 && !s.flush() {
				return
			}
		}
	}()
	err = h.gateway.Drops(ctx, filter, func(drop Drop) bool {
		select {
		case queue <- drop:
		default:
		}
		return ctx.Err() == nil
	})
	close(queue)
	<-written
	if err == nil || errors.Is(err, context.Canceled) {
		err = errStopping // a live stream has no other end
	} else {
		err = fmt.Errorf("listen for drops: %w", err)
	}
	return s.finish(err)
}
