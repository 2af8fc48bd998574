package api

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often it is looked whether a client of a stream is still there.
const lookEvery = time.Second

type socketKey struct{}

// withSocket notes the socket of a connection.
func withSocket(ctx context.Context, c net.Conn) context.Context {
	for {
		outer, within := c.(interface{ NetConn() net.Conn }) // as *tls.Conn has it
		if !within {
			break
		}
		c = outer.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return ctx
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, socketKey{}, raw)
}

// untilHangUp is a request whose context ends, too, when its client has closed the connection: what has nothing to write would
// never learn that. net/http looks only behind a request that it has read to its end, and no further than to the next octet.
func untilHangUp(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	if socket, known := ctx.Value(socketKey{}).(syscall.RawConn); known {
		go func() {
			look := time.NewTicker(lookEvery)
			defer look.Stop()
			for !hungUp(socket) {
				select {
				case <-ctx.Done():
					return
				case <-look.C:
				}
			}
			cancel()
		}()
	}
	return r.WithContext(ctx), cancel
}

// hungUp reports whether nobody will write at the other end of a socket any more.
func hungUp(socket syscall.RawConn) (gone bool) {
	err := socket.Control(func(fd uintptr) {
		look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor
		n, err := unix.Poll(look, 0)
		gone = err == nil && n > 0
	})
	return gone || err != nil // it is closed here, too
}
