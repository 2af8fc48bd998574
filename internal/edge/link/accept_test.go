package link

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
)

// stranger connects to an edge from somewhere, in a bubble.
func (n *network) stranger(t *testing.T, to *edge, from netip.Addr) net.Conn {
	t.Helper()
	c, err := n.dial(t.Context(), netip.AddrPortFrom(from, 1024), to.address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// gone waits until the other side has closed a connection, and says how long that took.
func gone(c net.Conn) time.Duration {
	began := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(began)
}

// Whoever does not come to an end with its handshake is closed after the time of one, however it goes about it (the predecessor's
// defect 4).
func TestHandshakeIsBounded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		do   func(t *testing.T, c net.Conn, a *edge)
	}{
		{"says nothing", func(*testing.T, net.Conn, *edge) {}},
		{"says its hello octet by octet", func(t *testing.T, c net.Conn, _ *edge) {
			for _, octet := range append([]byte{22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 501)...) {
				if _, err := c.Write([]byte{octet}); err != nil {
					return
				}
				pause(t.Context(), 100*time.Millisecond)
			}
			t.Error("512 octets were read, one each 100 ms")
		}},
		{"is a peer, but says no hello", func(t *testing.T, c net.Conn, a *edge) { _ = a.tls(c).HandshakeContext(t.Context()) }},
		{"is a peer, but says its hello octet by octet", func(t *testing.T, c net.Conn, a *edge) {
			s := a.tls(c)
			hello, _ := a.options.Hello("", nil)
			frame, err := wire.Append(nil, hello)
			if err != nil {
				t.Error(err)
			}
			go func() { _, _ = io.Copy(io.Discard, s) }()
			for _, octet := range frame {
				if _, err := s.Write([]byte{octet}); err != nil {
					return
				}
				pause(t.Context(), 100*time.Millisecond)
			}
			t.Error("a whole hello was read, an octet each 100 ms")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b, n := both(t)
				a.address = netip.AddrPort{}
				b.peers[0].Address = netip.AddrPort{}
				n.delay = nil
				stop := b.start(t)
				synctest.Wait()
				c := n.stranger(t, b, netip.MustParseAddr("198.51.100.1"))
				began := time.Now()
				go func() { row.do(t, c, a) }()
				b.await(t, "rejected", func() bool { return len(b.rejected) == 1 })
				if took := time.Since(began); took < testWait || took > testWait+flushMost || !errors.Is(b.rejections()[0], ErrHandshake) {
					t.Errorf("rejected after %v because %v, want %v after %v", took, b.rejections()[0], ErrHandshake, testWait)
				}
				passes(t, 10*time.Second)
				if !b.strange.empty() {
					t.Error("a place is taken yet")
				}
				stop()
				_ = c.Close()
			})
		})
	}
}

// tls is the client's side of a connection with an edge's certificate.
func (e *edge) tls(c net.Conn) *tls.Conn {
	return tls.Client(c, &tls.Config{NextProtos: []string{wire.ALPN}, Certificates: []tls.Certificate{*e.pair.TLS()}, InsecureSkipVerify: true}) //nolint:gosec // the test's own server
}

// Handshakes that strangers do not end take a bounded number of places, of each network and in all, for a bounded time; and none from
// a configured peer.
func TestHandshakesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n := both(t)
		b.peers[0].Address = a.address // its own, to dial it and to know it by
		a.options.Listen = func() (net.Listener, error) { return n.listen(netip.MustParseAddrPort("192.0.2.250:1")), nil }
		n.delay = nil
		stopB := b.start(t)
		synctest.Wait()
		address := netip.MustParseAddr("198.51.100.1")
		enter := func(count int) (rejected int) {
			before := len(b.rejections())
			for range count {
				go gone(n.stranger(t, b, address))
				address = address.Next()
			}
			synctest.Wait()
			return len(b.rejections()) - before
		}
		if got := enter(20); got != 12 || !errors.Is(b.rejections()[0], ErrTooMany) {
			t.Errorf("%d of 20 handshakes from one network were rejected, %v; want 12", got, b.rejections())
		}
		for network := range 6 {
			address = netip.AddrFrom4([4]byte{203, 0, byte(network), 1})
			want := 0
			if network >= 3 { // 32 are there
				want = 8
			}
			if got := enter(8); got != want {
				t.Errorf("network %d: %d of 8 handshakes were rejected, want %d", network, got, want)
			}
		}
		stopA := a.start(t)
		synctest.Wait()
		if s := b.States()[0]; !s.Up {
			t.Errorf("the configured peer has found no place: %+v", s)
		}
		passes(t, testWait+time.Millisecond)
		if got := enter(8); got != 0 {
			t.Errorf("when the handshakes' time is over, %d of 8 were rejected", got)
		}
		passes(t, testWait+time.Millisecond)
		stopA()
		stopB()
	})
}

// A peer that sends without an end, or reads nothing, takes a bounded part of the memory.
func TestPeerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n := both(t)
		b.peers[0].Address = netip.AddrPort{}
		n.delay = nil
		stop := b.start(t)
		synctest.Wait()
		c := n.stranger(t, b, a.address.Addr())
		s := a.tls(c)
		hello, _ := a.options.Hello("", nil)
		frame, err := wire.Append(nil, hello)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(frame); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 64<<10)
		if _, err := s.Read(buf); err != nil {
			t.Fatal(err)
		}
		b.await(t, "up", func() bool { return len(b.told) == 1 })
		pairs := make([]wire.Pair, wire.MostPairs)
		for i := range pairs {
			pairs[i] = wire.Pair{Mine: 1, Yours: 1}
		}
		sent := 0
		for ; sent < 10_000 && err == nil; sent++ {
			err = b.Send(a.name, wire.Close{Pacts: pairs, Reason: "policy"})
		}
		if !errors.Is(err, ErrSlow) {
			t.Errorf("after %d messages of some 20 KiB: %v, want %v", sent, err, ErrSlow)
		}
		b.await(t, "down", func() bool { return len(b.told) == 2 })
		_ = c.Close()
		stop()
	})
}

// A thousand connections that break, each in its way, leave no goroutine and no descriptor. No other test runs meanwhile.
func TestBrokenConnectionsLeaveNothing(t *testing.T) {
	a, b := newEdge(t, 1), newEdge(t, 2)
	b.options.Handshakes, b.options.PerNetwork = 1000, 1000
	b.listening(t)
	b.knows(a)
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	fds, goroutines := descriptors(), runtime.NumGoroutine()
	stop := b.start(t)
	hello, _ := a.options.Hello("", nil)
	frame, err := wire.Append(nil, hello)
	if err != nil {
		t.Fatal(err)
	}
	const connections, ways = 1000, 6
	for i := range connections {
		raw, err := b.options.Dial(context.Background(), b.address)
		if err != nil {
			t.Fatal(err)
		}
		switch i % ways {
		case 0: // says nothing
		case 1:
			_, _ = raw.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		case 2: // a reset
			_ = raw.(*net.TCPConn).SetLinger(0)
		case 3: // half a hello of TLS
			_, _ = raw.Write([]byte{22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3})
		case 4: // a peer, with another message first
			s := a.tls(raw)
			_ = s.Handshake()
			_, _ = s.Write([]byte{0, 0, 0, 2, '{', '}'})
		case 5: // a peer, whose link breaks at once
			s := a.tls(raw)
			_ = s.Handshake()
			_, _ = s.Write(frame)
		}
		_ = raw.Close()
	}
	b.await(t, "rejections", func() bool { return len(b.rejected) >= connections/ways*(ways-1) })
	stop()
	if !b.strange.empty() || !b.known.empty() {
		t.Error("places are taken yet")
	}
	if got := descriptors(); got >= fds { // the listener, which was there before, is closed now
		t.Errorf("%d descriptors, %d before with the listener", got, fds)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		runtime.Gosched() // some have done all but return
	}
	if got := runtime.NumGoroutine(); got > goroutines {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", got, goroutines, buf[:runtime.Stack(buf, true)])
	}
}

// empty says whether nobody is inside.
func (g *gate) empty() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all == 0 && len(g.networks) == 0
}
