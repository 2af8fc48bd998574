package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

// rebinding is a socket whose NAT forgets it now and then: it goes on from
// another port.
type rebinding struct {
	t    *testing.T
	from netns.Node

	mutex sync.Mutex
	now   net.PacketConn
	all   []net.PacketConn
	came  chan datagram
	ended chan struct{}
}

type datagram struct {
	octets []byte
	from   net.Addr
}

func newRebinding(t *testing.T, from netns.Node) *rebinding {
	t.Helper()
	c := &rebinding{t: t, from: from, came: make(chan datagram, 256), ended: make(chan struct{})}
	c.rebind()
	return c
}

// rebind goes on from a new port. What comes to the old one is lost, as at a NAT.
func (c *rebinding) rebind() {
	c.t.Helper()
	socket, err := c.from.ListenPacket("udp4", netip.AddrPortFrom(c.from.IP, 0).String())
	if err != nil {
		c.t.Fatal(err)
	}
	c.mutex.Lock()
	before := c.now
	c.now, c.all = socket, append(c.all, socket)
	c.mutex.Unlock()
	if before != nil {
		_ = before.Close()
	}
	go func() {
		buffer := make([]byte, 2048)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			select {
			case c.came <- datagram{append([]byte(nil), buffer[:n]...), from}:
			case <-c.ended:
				return
			}
		}
	}()
}

func (c *rebinding) ReadFrom(p []byte) (int, net.Addr, error) {
	select {
	case d := <-c.came:
		return copy(p, d.octets), d.from, nil
	case <-c.ended:
		return 0, nil, net.ErrClosed
	}
}

func (c *rebinding) WriteTo(p []byte, to net.Addr) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now.WriteTo(p, to)
}

func (c *rebinding) Close() error {
	close(c.ended)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now.Close()
}

func (c *rebinding) LocalAddr() net.Addr {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now.LocalAddr()
}
func (*rebinding) SetDeadline(time.Time) error      { return nil }
func (*rebinding) SetReadDeadline(time.Time) error  { return nil }
func (*rebinding) SetWriteDeadline(time.Time) error { return nil }

// A QUIC connection goes on when the client's NAT gives it another port
// (RFC 9000 §9.3.3): the known client needs no new claim.
func TestQUICRebinding(t *testing.T) {
	const name, rebindings = "quic.foo.example.", 3
	t.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true") // the socket is a wrapped one
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 1, Resolver: true})
	r.resolver()
	host, from := r.Hosts()[0], r.RemoteClients[0]
	quicServer(t, host, 8443)
	d := r.start(r.publishing(hostOpening(0, host.IP, name, "tcp/443:8443, udp/443:8443")))
	addresses, err := dig(from, r.Resolver.IP, name)
	if err != nil {
		t.Fatal(err)
	}
	socket := newRebinding(t, from)
	defer socket.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	connection, err := quic.Dial(ctx, socket, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addresses[0], 443)),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"echo"}}, &quic.Config{}) //nolint:gosec // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer connection.CloseWithError(0, "") //nolint:errcheck // the test is over
	for round := range rebindings + 1 {
		if round > 0 {
			socket.rebind()
		}
		for i := range 2 {
			word := "round " + strconv.Itoa(round) + "." + strconv.Itoa(i)
			stream, err := connection.OpenStreamSync(ctx)
			if err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			_, err = stream.Write([]byte(word))
			if err == nil {
				err = stream.Close()
			}
			if err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			_ = stream.SetReadDeadline(time.Now().Add(10 * time.Second))
			if back, err := io.ReadAll(stream); err != nil || string(back) != word {
				t.Fatalf("%s: %q, %v", word, back, err)
			}
		}
	}
	ports := map[uint16]bool{}
	for _, s := range d.sessions("--protocol", "udp") {
		ports[s.Remote.Port()] = true
	}
	if len(ports) != rebindings+1 || d.status().Claimed != 1 {
		t.Errorf("%d ports, %d claims: %d and 1 are what one client with %d bindings is", len(ports), d.status().Claimed, rebindings+1, rebindings+1)
	}
}

// quicServer sends back what comes by a stream.
func quicServer(t *testing.T, at netns.Node, port int) {
	t.Helper()
	quicSite(t, at, port, "")
}

// quicSite says who it is first.
func quicSite(t *testing.T, at netns.Node, port int, who string) {
	t.Helper()
	own := certificate.SelfSigned(t, certificate.ForNames("quic.foo.example"))
	socket, err := at.ListenPacket("udp4", netip.AddrPortFrom(at.IP, uint16(port)).String())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := quic.Listen(socket, &tls.Config{
		Certificates: []tls.Certificate{*own.TLS()}, NextProtos: []string{"echo"}, MinVersion: tls.VersionTLS13,
	}, &quic.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = listener.Close(), socket.Close() })
	go func() {
		for {
			connection, err := listener.Accept(context.Background())
			if err != nil {
				return
			}
			go func() {
				for {
					stream, err := connection.AcceptStream(context.Background())
					if err != nil {
						return
					}
					go func() {
						_, _ = io.WriteString(stream, who)
						_, _ = io.Copy(stream, stream)
						_ = stream.Close()
					}()
				}
			}()
		}
	}()
}
