package nameserver

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/miekg/dns"
)

func dialTCP(t *testing.T, address string) *dns.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	// Only a hang would meet this deadline.
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &dns.Conn{Conn: conn}
}

func write(t *testing.T, conn *dns.Conn, m *dns.Msg) {
	t.Helper()
	if err := conn.WriteMsg(m); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, conn *dns.Conn) *dns.Msg {
	t.Helper()
	m, err := conn.ReadMsg()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSeveralMessagesPerConnection(t *testing.T) {
	server, allocator := newPublic(t, nil)
	conn := dialTCP(t, start(t, server))
	for range 100 {
		m := request("hosta.foo.example.", dns.TypeA)
		write(t, conn, m)
		if reply := read(t, conn); reply.Id != m.Id || len(reply.Answer) != 1 {
			t.Fatalf("got %v", reply)
		}
	}
	if n := len(allocator.questions()); n != 100 {
		t.Errorf("%d allocations", n)
	}
}

// A TCP segment need not be a message: several arrive in one, or one in many.
// One read was taken for one message: several in a segment were lost, and one
// in several segments was garbage.
func TestDefect6_OneReadIsNotOneMessage(t *testing.T) {
	server, _ := newPublic(t, nil)
	conn := dialTCP(t, start(t, server))
	wire := packed(t, request("foo.example.", dns.TypeSOA))
	framed := append([]byte{0, byte(len(wire))}, wire...)
	three := append(append(append([]byte(nil), framed...), framed...), framed...)
	if _, err := conn.Conn.Write(three); err != nil {
		t.Fatal(err)
	}
	for _, octet := range framed {
		if _, err := conn.Conn.Write([]byte{octet}); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		if reply := read(t, conn); len(reply.Answer) != 1 {
			t.Errorf("got %v", reply)
		}
	}
}

func TestWaitingQueryHoldsUpNoOther(t *testing.T) {
	server, allocator := newPublic(t, nil)
	release := make(chan struct{})
	allocator.hook = func(ctx context.Context, _ Question) {
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
	conn := dialTCP(t, start(t, server))
	slow, quick := request("hosta.foo.example.", dns.TypeA), request("foo.example.", dns.TypeSOA)
	write(t, conn, slow)
	write(t, conn, quick)
	if reply := read(t, conn); reply.Id != quick.Id {
		t.Fatalf("the first reply is %v", reply)
	}
	// The asker has no more questions, but still wants its answer.
	if err := conn.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	close(release)
	if reply := read(t, conn); reply.Id != slow.Id || len(reply.Answer) != 1 {
		t.Errorf("the second reply is %v", reply)
	}
	if _, err := conn.ReadMsg(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last reply: %v", err)
	}
}

func TestStopEndsWaitingQueries(t *testing.T) {
	server, allocator := newPublic(t, nil)
	waiting := make(chan struct{})
	allocator.hook = func(ctx context.Context, _ Question) {
		close(waiting)
		<-ctx.Done()
	}
	packets, listener := sockets(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, packets, listener) }()
	conn := dialTCP(t, listener.Addr().String())
	write(t, conn, request("hosta.foo.example.", dns.TypeA))
	<-waiting
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve ended with %v", err)
	}
	if s := server.Statistics(); s.Connections != 0 {
		t.Errorf("counters %+v", s)
	}
}

func TestSilentAndOverlongConnectionsAreClosed(t *testing.T) {
	for _, test := range []struct {
		about string
		idle  time.Duration
		sent  []byte
	}{
		{"silent", time.Millisecond, nil},
		{"half a message", time.Millisecond, []byte{0, 30, 1, 2, 3}},
		{"message too long", time.Hour, []byte{0xFF, 0xFF, 1}},
	} {
		t.Run(test.about, func(t *testing.T) {
			server, _ := newPublic(t, func(o *PublicOptions) { o.Limits.Idle = test.idle })
			conn := dialTCP(t, start(t, server))
			_, _ = conn.Conn.Write(test.sent)
			if n, err := conn.Conn.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
				t.Errorf("read %d octets, %v", n, err)
			}
		})
	}
}

func TestFullServerClosesTheLongestSilent(t *testing.T) {
	server, _ := newPublic(t, func(o *PublicOptions) { o.Limits.Connections = 2; o.Limits.Idle = time.Hour })
	address := start(t, server)
	soa := request("foo.example.", dns.TypeSOA)
	exchange := func(conn *dns.Conn) {
		t.Helper()
		write(t, conn, soa)
		read(t, conn)
	}
	first, second := dialTCP(t, address), dialTCP(t, address)
	exchange(first)
	exchange(second)
	exchange(first) // now the second is the longest silent
	third := dialTCP(t, address)
	exchange(third)
	exchange(first)
	if _, err := second.ReadMsg(); err == nil {
		t.Error("the longest silent connection is still open")
	}
	if s := server.Statistics(); s.Evicted != 1 {
		t.Errorf("counters %+v", s)
	}
}

func TestOneAddressCannotTakeAllConnections(t *testing.T) {
	server, _ := newPublic(t, func(o *PublicOptions) { o.Limits.PerClient = 1; o.Limits.Idle = time.Hour })
	address := start(t, server)
	soa := request("foo.example.", dns.TypeSOA)
	first := dialTCP(t, address)
	write(t, first, soa)
	read(t, first)
	if _, err := dialTCP(t, address).ReadMsg(); err == nil {
		t.Error("a second connection was kept")
	}
	write(t, first, soa)
	read(t, first)
	if s := server.Statistics(); s.OverClient != 1 || s.Connections != 1 {
		t.Errorf("counters %+v", s)
	}
}
