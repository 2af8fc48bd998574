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
		_ = c.SetDeadline(time.Now().Add(strangerTime))
		return &stranger{Conn: c, leave: sync.OnceFunc(func() { d.strangers.Add(-1) })}, nil
	}
}

// stranger is a connection whose deadline stands.
type stranger struct {
	net.Conn
	leave func()
}

func (s *stranger) Close() error {
	s.leave()
	return s.Conn.Close()
}

func (*stranger) SetDeadline(time.Time) error      { return nil }
func (*stranger) SetReadDeadline(time.Time) error  { return nil }
func (*stranger) SetWriteDeadline(time.Time) error { return nil }
