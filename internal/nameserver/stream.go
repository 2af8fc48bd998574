package nameserver

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// pipelined is how many queries of one connection may wait at a time; the
	// next one is not read before one is done (RFC 7766 §6.2.1.1).
	pipelined = 64
	// writeTimeout closes a connection whose asker does not read its answers.
	writeTimeout = 5 * time.Second
	acceptPause  = 50 * time.Millisecond // after a failed accept, for instance without free descriptors
)

// streams serves DNS over TCP.
type streams struct {
	responder responder
	counters  *counters
	limits    Limits
	logger    *slog.Logger
	open      *connections
}

// accept takes connections until the listener is closed, then closes and waits
// for all of them.
func (s *streams) accept(ctx context.Context, listener net.Listener) error {
	var running sync.WaitGroup
	defer running.Wait()
	stop := context.AfterFunc(ctx, s.open.closeAll)
	defer stop()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return fmt.Errorf("accept DNS connections on %s: %w", listener.Addr(), err)
		}
		if err != nil {
			s.logger.Warn("accept failed", "listener", listener.Addr().String(), "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err != nil {
			_ = conn.Close()
			continue
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		entry, evicted := s.open.add(conn, from.Addr())
		if evicted {
			s.counters.evicted.Add(1)
		}
		if entry == nil {
			s.counters.overClient.Add(1)
			_ = conn.Close()
			continue
		}
		s.counters.connections.Add(1)
		running.Go(func() {
			defer s.counters.connections.Add(-1)
			defer s.open.remove(entry)
			s.converse(ctx, conn, entry, from)
		})
	}
}

// converse answers the messages of one connection. Replies that have to be
// waited for go out when they are ready, so they may overtake one another
// (RFC 7766 §6.2.1.1).
func (s *streams) converse(ctx context.Context, conn net.Conn, entry *connection, from netip.AddrPort) {
	w := &replyWriter{conn: conn, counters: s.counters}
	var waiting sync.WaitGroup
	defer func() {
		waiting.Wait() // the asker may close its half and still want the rest
		_ = conn.Close()
	}()
	slots := make(chan struct{}, pipelined)
	reader := bufio.NewReaderSize(conn, bufferSize)
	out := make([]byte, 2, 2+ownLimit+labelRoom)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(s.limits.Idle)); err != nil {
			return
		}
		message, err := readMessage(reader)
		if err != nil {
			return
		}
		came := time.Now()
		s.open.touch(entry)
		s.counters.queriesTCP.Add(1)
		reply, later := s.responder.respond(ctx, message, from, TCP, out[:2])
		_, _ = reader.Discard(len(message))
		if later == nil {
			if w.write(reply) {
				s.counters.answered(from, TCP, reply[2:], came)
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		waiting.Go(func() {
			buf := buffers.Get().(*[bufferSize]byte)
			defer buffers.Put(buf)
			if reply := later(ctx, buf[:2], w.write); w.write(reply) {
				s.counters.answered(from, TCP, reply[2:], came)
			}
			<-slots
		})
	}
}

// errTooLong: nothing we serve needs a message longer than the buffer.
var errTooLong = errors.New("message is longer than the server reads")

// readMessage waits for a whole message and returns it inside the reader's
// buffer; the caller discards it when done (RFC 1035 §4.2.2).
func readMessage(reader *bufio.Reader) ([]byte, error) {
	prefix, err := reader.Peek(2)
	if err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint16(prefix))
	if length+2 > reader.Size() {
		return nil, errTooLong
	}
	if _, err := reader.Discard(2); err != nil {
		return nil, err
	}
	message, err := reader.Peek(length)
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	return message, err
}

// replyWriter keeps the replies of one connection whole.
type replyWriter struct {
	mu       sync.Mutex
	conn     net.Conn
	counters *counters
}

// write sends a reply whose first two octets are room for its length. A
// connection that does not take it is closed, which ends its reader too.
func (w *replyWriter) write(reply []byte) (sent bool) {
	if len(reply) <= 2 {
		return false
	}
	binary.BigEndian.PutUint16(reply, uint16(len(reply)-2))
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = w.conn.Write(reply)
	}
	if err != nil {
		w.counters.sendFailed.Add(1)
		_ = w.conn.Close()
		return false
	}
	w.counters.countSent(reply[2:])
	return true
}
