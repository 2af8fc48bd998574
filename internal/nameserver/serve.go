package nameserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"
)

const (
	bufferSize = 4096 // octets: the longest message read, and room for the usual reply
	// badReads is how many failed reads in a row end a UDP reader: errors of
	// single packets come alone, a broken socket fails for ever.
	badReads = 64
)

// responder turns one message into one reply. respond appends the reply to buf
// and returns the whole; nil means silence. If the reply has to be waited for,
// respond returns a continuation instead, which the caller runs on another
// goroutine. message is not used after respond has returned.
type responder interface {
	respond(ctx context.Context, message []byte, from netip.AddrPort, transport Transport, buf []byte) ([]byte, continuation)
}

// continuation waits for a reply and appends it to buf; nil means silence. What
// has several messages gives all but the last to more, each in such a buffer;
// that happens on streams only.
type continuation func(ctx context.Context, buf []byte, more sender) []byte

// sender sends one message of several and reports whether the next may come.
type sender func(message []byte) bool

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// serve runs the readers of both sockets until ctx ends or one socket fails.
func serve(ctx context.Context, r responder, packets net.PacketConn, listener net.Listener, c *counters, limits Limits, logger *slog.Logger) error {
	udp, ok := packets.(*net.UDPConn)
	if packets != nil && !ok {
		return fmt.Errorf("serve DNS on %T: the socket must be a *net.UDPConn", packets)
	}
	parent := ctx
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	closeSockets := context.AfterFunc(ctx, func() {
		if udp != nil {
			_ = udp.Close()
		}
		if listener != nil {
			_ = listener.Close()
		}
	})
	defer closeSockets()

	var running sync.WaitGroup
	run := func(loop func() error) {
		running.Go(func() {
			if err := loop(); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	if udp != nil {
		// One more than the CPUs, so that an allocation under way on each
		// does not stop the reading.
		for range runtime.GOMAXPROCS(0) + 1 {
			run(func() error { return readPackets(ctx, r, udp, c, &running) })
		}
	}
	if listener != nil {
		s := &streams{responder: r, counters: c, limits: limits, logger: logger, open: newConnections(limits)}
		run(func() error { return s.accept(ctx, listener) })
	}
	<-ctx.Done()
	running.Wait()
	if parent.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// readPackets answers datagrams one after another.
func readPackets(ctx context.Context, r responder, socket *net.UDPConn, c *counters, running *sync.WaitGroup) error {
	in := make([]byte, bufferSize)
	out := make([]byte, 0, bufferSize)
	bad := 0
	for {
		n, from, err := socket.ReadFromUDPAddrPort(in)
		if err != nil {
			if bad++; bad < badReads && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				continue
			}
			return fmt.Errorf("read DNS queries from %s: %w", socket.LocalAddr(), err)
		}
		bad = 0
		came := time.Now()
		c.queriesUDP.Add(1)
		client := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		reply, later := r.respond(ctx, in[:n], client, UDP, out[:0])
		if later != nil {
			running.Go(func() {
				buf := buffers.Get().(*[bufferSize]byte)
				defer buffers.Put(buf)
				sendPacket(socket, later(ctx, buf[:0], nil), from, c, came)
			})
			continue
		}
		sendPacket(socket, reply, from, c, came)
	}
}

// sendPacket answers what came then, and counts what the socket does not take: the asker will ask again.
func sendPacket(socket *net.UDPConn, reply []byte, to netip.AddrPort, c *counters, came time.Time) {
	if len(reply) == 0 || to.Port() == 0 {
		return
	}
	if _, err := socket.WriteToUDPAddrPort(reply, to); err != nil {
		c.sendFailed.Add(1)
		return
	}
	c.countSent(reply)
	c.answered(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), UDP, reply, came)
}
