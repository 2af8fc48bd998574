package api

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	mostStrangers = 64 // connections at a time of who has no role
	strangerTime  = 2 * time.Second
)

// doorkeeper lets who has no role hear so, by few connections at a time that do not last.
type doorkeeper struct {
	net.Listener
	access    func() Access
	strangers atomic.Int32
}

func (d *doorkeeper) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p, err := peerOf(c)
		if err == nil && d.access().of(p) > NoRole {
			return c, nil
		}
		if d.strangers.Add(1) > mostStrangers {
			d.strangers.Add(-1)
			_ = c.Close() // it is told nothing
			continue
		}
		s := &stranger{c, time.Now().Add(strangerTime), sync.OnceFunc(func() { d.strangers.Add(-1) })}
		_ = s.SetDeadline(s.until) // else it has gone already
		return s, nil
	}
}

// stranger is a connection that is over at a time, whatever later deadline it is given.
type stranger struct {
	net.Conn
	until time.Time
	leave func()
}

func (s *stranger) Close() error {
	s.leave()
	return s.Conn.Close()
}

// SetDeadline implements net.Conn, as the next two do.
func (s *stranger) SetDeadline(t time.Time) error { return s.Conn.SetDeadline(s.earlier(t)) }

// SetReadDeadline implements net.Conn. A server ends a read that waits by one that is past.
func (s *stranger) SetReadDeadline(t time.Time) error { return s.Conn.SetReadDeadline(s.earlier(t)) }

// SetWriteDeadline implements net.Conn.
func (s *stranger) SetWriteDeadline(t time.Time) error { return s.Conn.SetWriteDeadline(s.earlier(t)) }

func (s *stranger) earlier(t time.Time) time.Time {
	if t.IsZero() || t.After(s.until) {
		return s.until
	}
	return t
}
