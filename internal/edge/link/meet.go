package link

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// met is a connection whose both ends know each other.
type met struct {
	*connection
	from *bufio.Reader
}

// meet makes a connection of what was dialled, or accepted where to is nil: TLS, and both hellos, within a handshake's time. It closes
// what it cannot use. What is asked already goes out with the dialler's hello, behind its Finished.
func (l *Links) meet(ctx context.Context, raw net.Conn, to *peer) (met, error) {
	from := remote(raw)
	_ = raw.SetDeadline(time.Now().Add(l.o.Wait))
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	c, p, err := l.greet(ctx, raw, to)
	m := met{connection: c}
	if err == nil {
		m.from = bufio.NewReader(c.tls)
		err = c.introduce(m.from)
	}
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		if c != nil {
			c.end(err, false)
			c.written.Wait()
		}
		_ = raw.Close()
		l.rejected(ctx, from, p, to, err)
	}
	if p != nil {
		p.arrived(m, err)
	}
	return m, err
}

// rejected tells it, unless it is we who have stopped, or have dialled something that is no edge yet.
func (l *Links) rejected(ctx context.Context, from netip.AddrPort, p, to *peer, why error) {
	var name model.Name
	if p != nil {
		name = p.name
	}
	if ctx.Err() == nil && (to == nil || !errors.Is(why, ErrHandshake)) {
		l.o.Handler.Rejected(from, name, why)
	}
}

// greet is the handshake of TLS. Who has dialled us is told by the certificate, and has the connection counted as under way.
func (l *Links) greet(ctx context.Context, raw net.Conn, to *peer) (*connection, *peer, error) {
	candidates, t, stranger := []*peer{to}, (*tls.Conn)(nil), false
	if to == nil {
		candidates = l.all()
		config := l.secure(candidates)
		config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			stranger = !slices.Contains(h.SupportedProtos, wire.ALPN)
			return nil, nil
		}
		t = tls.Server(raw, config)
	} else {
		t = tls.Client(raw, l.secure(candidates))
	}
	if err := t.HandshakeContext(ctx); err != nil {
		if stranger {
			err = fmt.Errorf("%w: %w", ErrALPN, err)
		}
		return nil, to, why(err)
	}
	p, err := whose(candidates, t.ConnectionState())
	if err != nil {
		return nil, to, err
	}
	if to == nil {
		p.expect()
	}
	return newConnection(l, p, t, to != nil), p, nil
}

// introduce says hello, and hears the peer's.
func (c *connection) introduce(from *bufio.Reader) error {
	said, err := c.links.o.Hello(c.peer.name, c)
	if err != nil {
		return fmt.Errorf("make a hello: %w", err)
	}
	c.said = said
	first, err := wire.Append(nil, said)
	if err != nil {
		return fmt.Errorf("make a hello: %w", err)
	}
	if c.dialled {
		c.peer.mu.Lock()
		first = append(first, c.peer.asked(c)...)
		c.peer.mu.Unlock()
	}
	if err := c.queue(first); err != nil {
		return err
	}
	c.written.Add(1)
	go c.write()
	m, err := wire.Read(from)
	if err != nil {
		return why(err)
	}
	hello, is := m.(wire.Hello)
	if !is {
		return fmt.Errorf("%w: the first message is no hello", ErrHandshake)
	}
	if hello.Name != c.peer.name {
		return fmt.Errorf("%w: it is %s", ErrName, hello.Name)
	}
	if len(hello.Locators) == 0 { // it is where the link is from
		hello.Locators = []wire.Locator{{Address: remote(c.tls.NetConn()).Addr()}}
	}
	c.hello = hello
	c.epoch.Store(uint32(hello.Epoch))
	_ = c.tls.SetReadDeadline(time.Time{})
	c.version, err = common(hello.Versions, said.Versions)
	return err
}

// why sorts what a handshake ended by.
func why(err error) error {
	for _, ours := range []error{ErrPin, ErrName, ErrALPN, ErrExpired, ErrAuthority, ErrHandshake} {
		if errors.Is(err, ours) {
			return err
		}
	}
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" { // its type is crypto/tls's own
		switch alert.Err.Error() {
		case tls.AlertError(120).Error(): // no_application_protocol, RFC 8446 §6
			return fmt.Errorf("%w: %w", ErrALPN, err)
		case tls.AlertError(42).Error(): // bad_certificate
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	return fmt.Errorf("%w: %w", ErrHandshake, err)
}
