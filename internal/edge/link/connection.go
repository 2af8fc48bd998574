package link

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

const (
	pingEvery   = 10 * time.Second // RFC 8446 has no heartbeat, and TCP's own is the kernel's
	pingsMissed = 3
	writeMost   = 10 * time.Second
	flushMost   = time.Second // of what is unsent when a connection is given up
	unsentMost  = 4 << 20     // octets
	exporter    = "EXPORTER-realmgate-edge"
)

// connection is one TLS connection with a peer. Its reader is who made it, its writer a goroutine of its own.
type connection struct {
	links   *Links
	peer    *peer
	tls     *tls.Conn
	dialled bool // by us
	hello   wire.Hello
	said    wire.Hello
	version int
	epoch   atomic.Uint32 // to send with
	rtt     atomic.Int64
	heard   atomic.Uint64 // messages
	unsent  chan struct{} // there is something in out
	ending  chan struct{}
	written sync.WaitGroup // the writer

	mu     sync.Mutex
	out    []byte
	ended  bool
	why    error
	drain  bool
	pinged map[uint64]model.Instant
}

func newConnection(l *Links, p *peer, t *tls.Conn, dialled bool) *connection {
	return &connection{links: l, peer: p, tls: t, dialled: dialled, unsent: make(chan struct{}, 1), ending: make(chan struct{}), pinged: map[uint64]model.Instant{}}
}

// Key implements Keys.
func (c *connection) Key(out bool, epoch uint8) (key [16]byte, err error) {
	direction := byte(1) // dialler to acceptor
	if out != c.dialled {
		direction = 2
	}
	s := c.tls.ConnectionState()
	secret, err := s.ExportKeyingMaterial(exporter, []byte{direction, epoch}, len(key))
	if err != nil {
		return key, fmt.Errorf("export the key of epoch %d: %w", epoch, err)
	}
	return [16]byte(secret), nil
}

// Said implements Keys.
func (c *connection) Said() wire.Hello { return c.said }

// preferred says whether it stays where both have dialled.
func (c *connection) preferred() bool { return c.dialled == (c.links.o.Name < c.peer.name) }

// send queues messages. What is not written when the connection ends is lost.
func (c *connection) send(messages ...wire.Message) error {
	var frames []byte
	for _, m := range messages {
		var err error
		if frames, err = wire.Append(frames, m); err != nil {
			return fmt.Errorf("write to the peer: %w", err)
		}
	}
	return c.queue(frames)
}

// queue queues frames, as send does.
func (c *connection) queue(frames []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return ErrNoLink
	}
	if c.out = append(c.out, frames...); len(c.out) > unsentMost {
		c.endLocked(ErrSlow, false)
		return ErrSlow
	}
	notify(c.unsent)
	return nil
}

// end gives the connection up; the first reason counts. Drained, it is read until the other side closes it, too: nothing that is under
// way is lost.
func (c *connection) end(why error, drain bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(why, drain)
}

func (c *connection) endLocked(why error, drain bool) {
	if c.ended {
		return
	}
	c.ended, c.why, c.drain = true, why, drain
	close(c.ending)
	_ = c.tls.NetConn().SetWriteDeadline(time.Now().Add(flushMost)) // also of a write that waits
}

// reason is why it has ended.
func (c *connection) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// write writes what is queued, and a ping now and then, until the connection ends.
func (c *connection) write() {
	defer c.written.Done()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	missed, heard := 0, uint64(0)
	for {
		select {
		case <-c.unsent:
			if err := c.flush(writeMost); err != nil {
				c.end(fmt.Errorf("write to the peer: %w", err), false)
			}
		case <-ping.C:
			missed++
			if now := c.heard.Load(); now != heard {
				missed, heard = 0, now
			}
			if missed >= pingsMissed {
				c.end(ErrSilent, false)
				continue
			}
			c.ping()
		case <-c.ending:
			c.finish()
			return
		}
	}
}

// flush writes what is queued, in one piece.
func (c *connection) flush(most time.Duration) error {
	c.mu.Lock()
	out := c.out
	c.out = nil
	if c.ended {
		most = flushMost
	}
	_ = c.tls.NetConn().SetWriteDeadline(time.Now().Add(most))
	c.mu.Unlock()
	if len(out) == 0 {
		return nil
	}
	_, err := c.tls.Write(out)
	return err
}

// finish ends the writing half, and the reading half: at once, or when the other side has ended its own.
func (c *connection) finish() {
	_ = c.flush(flushMost)
	if c.drain {
		_ = c.tls.CloseWrite()
		_ = c.tls.SetReadDeadline(time.Now().Add(c.links.o.Wait))
		return
	}
	_ = c.tls.NetConn().Close()
}

// ping asks for a sign of life.
func (c *connection) ping() {
	id := c.links.o.Random()
	c.mu.Lock()
	if len(c.pinged) > pingsMissed {
		clear(c.pinged)
	}
	c.pinged[id] = c.links.o.Now()
	c.mu.Unlock()
	_ = c.send(wire.Ping{ID: id})
}

// ponged takes the answer to a ping.
func (c *connection) ponged(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ours := c.pinged[id]; ours {
		delete(c.pinged, id)
		c.rtt.Store(int64(c.links.o.Now().Sub(at)))
	}
}

// suspect ends the connection where nothing comes of it within a handshake's time.
func (c *connection) suspect() {
	heard := c.heard.Load()
	c.ping()
	time.AfterFunc(c.links.o.Wait, func() {
		if c.heard.Load() == heard {
			c.end(ErrSilent, false)
		}
	})
}

// read hears the peer until it, or we, have ended the connection, and says why that was.
func (c *connection) read(from *bufio.Reader) error {
	for {
		m, err := wire.Read(from)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the peer has closed the link")
			}
			c.end(err, false)
			c.written.Wait()
			_ = c.tls.NetConn().Close() // that of a drained one is open yet
			return c.reason()
		}
		c.heard.Add(1)
		if m != nil {
			c.peer.hear(c, m)
		}
	}
}

// remote is the other end.
func remote(c net.Conn) netip.AddrPort {
	a, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil { // a pipe
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// roundTrip is the last ping's; 0: none was answered yet.
func (c *connection) roundTrip() time.Duration { return time.Duration(c.rtt.Load()) }
