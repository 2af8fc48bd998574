package link

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/wire"
)

// listening gives an edge a socket of the machine, and the dialler of the machine.
func (e *edge) listening(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	e.address = netip.MustParseAddrPort(l.Addr().String())
	e.options.Listen = func() (net.Listener, error) { return l, nil }
	e.options.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp4", to.String())
	}
}

// Over sockets of the machine: an ask is answered, both ends know of each other, and have the same keys.
func TestAsk(t *testing.T) {
	t.Parallel()
	a, b := newEdge(t, 1), newEdge(t, 2)
	a.listening(t)
	b.listening(t)
	a.knows(b)
	b.knows(a)
	b.peers[0].Address = netip.AddrPort{} // a dials
	b.answer = accepts
	b.start(t)
	a.start(t)

	for i := 1; i <= 3; i++ {
		got, err := a.Ask(t.Context(), b.name, open(i))
		if err != nil {
			t.Fatal(err)
		}
		if accept, is := got.(wire.Accept); !is || accept.Tag != wire.Tag(i+1) {
			t.Fatalf("%d: answer %+v, want accept of tag %d", i, got, i+1)
		}
	}
	a.await(t, "up", func() bool { return a.keys != nil })
	if a.hello.VNI != 2 || b.hello.VNI != 1 || a.keys.Said().VNI != 1 {
		t.Errorf("hellos: a heard %+v, said %+v, b heard %+v", a.hello, a.keys.Said(), b.hello)
	}
	seen := map[[16]byte]bool{}
	for _, epoch := range []uint8{0, 1, 127} {
		for _, out := range []bool{true, false} {
			ours, err := a.keys.Key(out, epoch)
			theirs, errB := b.keys.Key(!out, epoch)
			if err != nil || errB != nil || ours != theirs {
				t.Errorf("out %v, epoch %d: keys %x and %x, errors %v, %v", out, epoch, ours, theirs, err, errB)
			}
			seen[ours] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d keys of 6 directions and epochs", len(seen))
	}
	if s := a.States(); len(s) != 1 || !s[0].Up || s[0].Name != b.name || s[0].Locator != b.address || !s[0].Dialled || s[0].Version != 1 || s[0].Error != "" {
		t.Errorf("states of a: %+v", s)
	}
	if err := b.Send(a.name, wire.Leave{Reason: "test"}); err != nil {
		t.Error(err)
	}
	a.await(t, "leave", func() bool { return len(a.messages) == 1 && a.messages[0] == wire.Leave{Reason: "test"} })
	if _, err := a.Ask(t.Context(), "nobody.example.", open(1)); err == nil {
		t.Error("an ask of a peer that is not configured has an answer")
	}
}
