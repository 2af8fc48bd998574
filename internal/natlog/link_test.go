package natlog

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/natlog/settings"
	"github.com/realmgate/realmgate/test/certificate"
)

// accept hands over connections to a listener until the test ends.
func accept(t *testing.T, listener net.Listener) <-chan net.Conn {
	t.Helper()
	accepted := make(chan net.Conn, 8)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	return accepted
}

// listenTLS listens with a certificate for 127.0.0.1; ca is the file of who has signed it.
func listenTLS(t *testing.T, config *tls.Config) (listener net.Listener, ca string) {
	t.Helper()
	authority := certificate.NewAuthority(t)
	ca = filepath.Join(t.TempDir(), "ca.crt")
	authority.Write(t, ca, "")
	config.MinVersion = tls.VersionTLS12
	config.Certificates = []tls.Certificate{*authority.Issue(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}).TLS()}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	return listener, ca
}

// A collector by TLS gets what it is sent where its certificate is signed as is wanted, and nothing elsewhere.
func TestCollectorByTLS(t *testing.T) {
	t.Parallel()
	listener, file := listenTLS(t, &tls.Config{})
	accepted := accept(t, listener)
	heard := make(chan string, 4)
	go func() {
		for conn := range accepted {
			go func(conn net.Conn) {
				defer func() { _ = conn.Close() }()
				word, _ := bufio.NewReader(conn).ReadString('>')
				heard <- word
			}(conn)
		}
	}()
	to := settings.Collector{Network: "tls", Host: listener.Addr().String()}
	for ca, want := range map[string]bool{file: true, "": false, "/dev/null": false} {
		out := newSyslog(settings.Sink{Syslog: to, CA: ca})
		n, err := out.deliver(t.Context(), []Record{mapping(MappingBegun, 1, 40000)})
		if (err == nil) != want || (n == 1) != want {
			t.Errorf("with certificates of %q: %d are delivered, %v", ca, n, err)
		}
		if ca == "/dev/null" { // it does not even connect
			continue
		}
		if got := <-heard; want != strings.HasSuffix(got, " <134>") {
			t.Errorf("with certificates of %q it hears %q", ca, got)
		}
		_ = out.close(t.Context())
	}
}

// Who ends each connection at once takes no records, and none is lost to it: a collector that wants a certificate of ours, which
// says so only when the connection stands (TLS 1.3), or something before a collector that is away.
func TestCollectorThatHangsUp(t *testing.T) {
	t.Parallel()
	demanding, ca := listenTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for network, c := range map[string]struct {
		listener net.Listener
		says     string
	}{"tls": {demanding, "certificate required"}, "tcp": {plain, "the collector has ended the connection"}} {
		accepted := accept(t, c.listener)
		go func() {
			for conn := range accepted {
				if conn, secure := conn.(*tls.Conn); secure {
					_ = conn.Handshake()
				}
				_ = conn.Close()
			}
		}()
		to := settings.Collector{Network: network, Host: c.listener.Addr().String()}
		for name, out := range map[string]outlet{"syslog": newSyslog(settings.Sink{Syslog: to, CA: ca}), "ipfix": newIPFIX(settings.Sink{IPFIX: to, CA: ca}, time.Now)} {
			for range 2 {
				n, err := out.deliver(t.Context(), everyKind())
				if n != 0 || err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s by %s: %d are done with, %v", name, network, n, err)
				}
			}
			if lost := out.(loser).lost(); lost != 0 {
				t.Errorf("%s by %s: %d are lost", name, network, lost)
			}
			_ = out.close(t.Context())
		}
	}
}

// A connection of IPFIX is a session of its own: it begins with the templates, and its sequence numbers with 0 (RFC 7011 §3.1, §10.4).
func TestIPFIXBeginsAnewByConnection(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "tls"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			listener, ca := listenTLS(t, &tls.Config{})
			if network == "tcp" {
				var err error
				if listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
					t.Fatal(err)
				}
			}
			accepted := accept(t, listener)
			out := newIPFIX(settings.Sink{IPFIX: settings.Collector{Network: network, Host: listener.Addr().String()}, CA: ca}, time.Now)
			defer func() { _ = out.close(t.Context()) }()
			for range 2 {
				delivered := make(chan error, 1)
				go func() {
					n, err := out.deliver(t.Context(), everyKind())
					if err == nil && n != int(kinds) {
						err = fmt.Errorf("%d are delivered", n)
					}
					delivered <- err
				}()
				conn := <-accepted
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				c := &collector{t: t, conn: messages{conn}, templates: map[uint16][]field{}, events: map[uint8]int{}}
				for c.events[15] == 0 { // the events are in one message
					c.read()
				}
				if err := <-delivered; err != nil || c.events[4] != 1 || c.events[8] != 1 || c.events[9] != 1 {
					t.Errorf("of each event came %v: %v", c.events, err)
				}
				_ = conn.Close()
				<-out.gone //nolint:errcheck // that it is over is enough
			}
		})
	}
}

// messages are those of IPFIX that a connection brings, one after the other.
type messages struct{ net.Conn }

func (m messages) ReadFrom(b []byte) (int, net.Addr, error) {
	if _, err := io.ReadFull(m, b[:ipfixHeader]); err != nil {
		return 0, nil, err
	}
	length := int(binary.BigEndian.Uint16(b[2:]))
	_, err := io.ReadFull(m, b[ipfixHeader:max(length, ipfixHeader)])
	return length, nil, err
}

func (m messages) WriteTo([]byte, net.Addr) (int, error) { return 0, net.ErrClosed }

// Who ends the log does not wait for what a collector may say of a new connection.
func TestConnectionIsLeft(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accept(t, listener)
	l := &link{to: settings.Collector{Network: "tcp", Host: listener.Addr().String()}}
	ctx, leave := context.WithTimeout(t.Context(), answerTime/2) // it is connected by then
	defer leave()
	if fresh, err := l.open(ctx); fresh || !errors.Is(err, context.DeadlineExceeded) || l.conn != nil {
		t.Errorf("fresh %t, %v", fresh, err)
	}
}
