package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/config"
)

// receiveBuffer is how many octets of questions may wait; the kernel doubles it,
// and counts about 4 KiB for each that comes by XDP. Its default loses all but
// some fifty of a burst.
const receiveBuffer = 4 << 20

// listenUDP is net.ListenPacket with room for bursts.
func listenUDP(address string) (net.PacketConn, error) {
	l := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			// Without the right to it bursts are lost, no more.
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer)
		})
	}}
	return l.ListenPacket(context.Background(), "udp4", address)
}

// Sockets are what the name servers listen on.
type Sockets struct {
	publicUDP, privateUDP net.PacketConn
	publicTCP, privateTCP net.Listener
	public                netip.AddrPort // where those of the public side are
}

// Listen opens the sockets of a configuration.
func Listen(c *config.Config) (s *Sockets, err error) {
	s = &Sockets{public: c.DNS.Public}
	if s.publicUDP, s.publicTCP, err = listenNames(c.DNS.Public); err == nil {
		s.privateUDP, s.privateTCP, err = listenNames(c.DNS.Private)
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// none reports whether there are no name servers, as on a machine that has nobody behind it.
func (s *Sockets) none() bool { return s.privateUDP == nil }

// Answer is nil once our own name servers answer, whatever they say.
func (s *Sockets) Answer(ctx context.Context) error {
	for _, at := range []net.PacketConn{s.privateUDP, s.publicUDP} {
		if at == nil {
			continue
		}
		question := new(dns.Msg).SetQuestion(".", dns.TypeSOA)
		question.RecursionDesired = false
		client := dns.Client{Timeout: time.Second}
		if _, _, err := client.ExchangeContext(ctx, question, at.LocalAddr().String()); err != nil {
			return fmt.Errorf("ask our name server at %s: %w", at.LocalAddr(), err)
		}
	}
	return nil
}

// Close closes them.
func (s *Sockets) Close() {
	for _, p := range []net.PacketConn{s.publicUDP, s.privateUDP} {
		if p != nil {
			_ = p.Close()
		}
	}
	for _, l := range []net.Listener{s.publicTCP, s.privateTCP} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// listenNames opens the sockets of a name server, none where there is none, or its interface has no address.
func listenNames(at netip.AddrPort) (packets net.PacketConn, listener net.Listener, err error) {
	if !at.IsValid() || at.Addr().IsUnspecified() {
		return nil, nil, nil
	}
	if packets, err = listenUDP(at.String()); err != nil {
		return nil, nil, fmt.Errorf("listen for DNS on %s (%s): %w", at, hint(err, "is the address on an interface, and the port free?"), err)
	}
	if listener, err = net.Listen("tcp4", at.String()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen for DNS on %s (%s): %w", at, hint(err, "is the port free?"), err), packets.Close())
	}
	return packets, listener, nil
}

// hint is what to look at when a socket cannot be opened, most often as elsewhere says.
func hint(err error, elsewhere string) string {
	if errors.Is(err, unix.EACCES) {
		return "ports below 1024 need root or CAP_NET_BIND_SERVICE"
	}
	return elsewhere
}

// ServePublic serves names outside.
func (s *Service) ServePublic(ctx context.Context, sockets *Sockets) error {
	if sockets.none() {
		<-ctx.Done()
		return nil
	}
	s.Log.Info("serving", "public", sockets.public, "private", sockets.privateUDP.LocalAddr().String())
	s.announce(s.current.Load())
	return s.runPublic(ctx, sockets.publicUDP, sockets.publicTCP, sockets.public)
}

// ServePrivate serves names inside.
func (s *Service) ServePrivate(ctx context.Context, sockets *Sockets) error {
	if sockets.none() {
		<-ctx.Done()
		return nil
	}
	return s.private.Serve(ctx, sockets.privateUDP, sockets.privateTCP)
}

// runPublic serves names outside, at another address when the configuration has another.
func (s *Service) runPublic(ctx context.Context, packets net.PacketConn, listener net.Listener, at netip.AddrPort) error {
	for {
		serving, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			if packets == nil {
				<-serving.Done()
				done <- nil
				return
			}
			done <- s.public.Serve(serving, packets, listener)
		}()
		next := at
		for next == at {
			select {
			case err := <-done:
				stop()
				return err
			case <-s.moved:
				next = s.current.Load().DNS.Public
			}
		}
		stop()
		if err := <-done; err != nil || ctx.Err() != nil {
			return err
		}
		var err error
		packets, listener, err = listenNames(next)
		switch {
		case err != nil:
			s.Log.Error("public name server not listening", "error", err)
		case packets == nil:
			s.Log.Warn("public name server without address", "was", at)
		default:
			s.Log.Info("public name server moved", "from", at, "to", next)
		}
		at = next
	}
}

// tellMoved has the name server look where it is to listen.
func (s *Service) tellMoved() {
	select {
	case s.moved <- struct{}{}:
	default:
	}
}
