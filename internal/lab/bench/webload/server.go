package webload

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Server answers hellos at a port of all addresses. A page begins with the address at which it was asked for, so that
// clients see that they came to the right host.
type Server struct {
	Port uint16 // that it serves at

	listener int
	poller   *poller
	talks    map[int]*talk
	octets   []byte
	ended    chan error
}

// talk is a connection of a server.
type talk struct {
	got, length int // octets of the hello, and how many it has
	want        kind
}

const (
	serverBacklog = 4096
	pageLength    = 1200      // as much as the server's first flight of TLS has without certificates
	bulkLength    = 256 << 10 // that is written or read at once
	addressLength = 4         // of IPv4
	nonBlocking   = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
)

// Serve begins to serve at a port, 0 is any, inside a network namespace, which do runs functions in.
func Serve(do func(func() error) error, port int) (*Server, error) {
	s := &Server{talks: map[int]*talk{}, octets: make([]byte, bulkLength), ended: make(chan error, 1), listener: -1}
	var err error
	if s.poller, err = newPoller(); err != nil {
		return nil, err
	}
	err = do(func() (err error) {
		if s.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|nonBlocking, 0); err != nil {
			return err
		}
		if err = unix.SetsockoptInt(s.listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
			err = unix.Bind(s.listener, &unix.SockaddrInet4{Port: port})
		}
		if err == nil {
			err = unix.Listen(s.listener, serverBacklog)
		}
		if err == nil {
			err = s.poller.add(s.listener, unix.EPOLLIN)
		}
		if at, ok := sockname(s.listener); ok {
			s.Port = uint16(at.Port)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve at port %d: %w", port, err), s.release())
	}
	go func() { s.ended <- onThread(s.run) }()
	return s, nil
}

// Close ends all connections.
func (s *Server) Close() error { return errors.Join(s.poller.stop(), <-s.ended, s.release()) }

func (s *Server) release() error {
	for fd := range s.talks {
		_ = unix.Close(fd)
	}
	err := s.poller.close()
	if s.listener >= 0 {
		err = errors.Join(err, unix.Close(s.listener))
	}
	return err
}

func (s *Server) run() error {
	for {
		events, more, err := s.poller.wait(wakeEvery)
		if err != nil || !more {
			return err
		}
		for _, e := range events {
			if fd := int(e.Fd); fd == s.listener {
				s.accept()
			} else if c := s.talks[fd]; c != nil && !s.serve(fd, c) {
				delete(s.talks, fd)
				_ = unix.Close(fd) // its client is gone, or has all
			}
		}
	}
}

func (s *Server) accept() {
	for {
		fd, _, err := unix.Accept4(s.listener, nonBlocking)
		if err != nil {
			return // no more now
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // it cannot fail on a socket of TCP
		if s.poller.add(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLET) != nil {
			_ = unix.Close(fd)
			continue
		}
		s.talks[fd] = &talk{length: recordHeader}
	}
}

// serve goes on as far as it can, and reports whether there is more to do.
func (s *Server) serve(fd int, c *talk) bool {
	for c.got < c.length {
		n, err := unix.Read(fd, s.octets)
		if errors.Is(err, unix.EAGAIN) {
			return true
		}
		if err != nil || n == 0 || c.got == 0 && n <= kindAt {
			return false
		}
		if c.got == 0 {
			c.length, c.want = recordLength(s.octets), kind(s.octets[kindAt])
		}
		c.got += n
	}
	if c.want != bulk {
		s.answer(fd)
		return false
	}
	for {
		if _, err := unix.Write(fd, s.octets); err != nil {
			return errors.Is(err, unix.EAGAIN)
		}
	}
}

// answer is a page. Who does not get it says so.
func (s *Server) answer(fd int) {
	if at, ok := sockname(fd); ok {
		copy(s.octets, at.Addr[:])
		_, _ = unix.Write(fd, s.octets[:pageLength])
	}
}

func sockname(fd int) (*unix.SockaddrInet4, bool) {
	at, err := unix.Getsockname(fd)
	if err != nil {
		return nil, false
	}
	four, ok := at.(*unix.SockaddrInet4)
	return four, ok
}
