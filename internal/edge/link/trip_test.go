package link

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
)

// far is a connection whose octets take a while, in a bubble.
type far struct {
	net.Conn
	trip time.Duration // one way
	once sync.Once
	out  chan flight
	end  chan struct{}
}

type flight struct {
	octets []byte
	due    time.Time
}

func newFar(c net.Conn, trip time.Duration) *far {
	f := &far{Conn: c, trip: trip, out: make(chan flight, 1000), end: make(chan struct{})}
	go func() {
		for {
			select {
			case p := <-f.out:
				time.Sleep(time.Until(p.due))
				_, _ = f.Conn.Write(p.octets)
			case <-f.end:
				return
			}
		}
	}()
	return f
}

func (f *far) Write(b []byte) (int, error) {
	select {
	case f.out <- flight{append([]byte(nil), b...), time.Now().Add(f.trip)}:
		return len(b), nil
	case <-f.end:
		return 0, net.ErrClosed
	}
}

func (f *far) Close() error {
	f.once.Do(func() { close(f.end) })
	return f.Conn.Close()
}

// An answer takes three round trips where there is no link: TCP's, TLS's, and one for the question; and one where there is.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	const trip = 30 * time.Millisecond // one way
	synctest.Test(t, func(t *testing.T) {
		a, b, n := both(t)
		b.peers[0].Address = netip.AddrPort{}
		n.delay = func() time.Duration { return 2 * trip }
		n.way = trip
		n.cut = true
		stopB := b.start(t)
		stopA := a.start(t)
		passes(t, 5*time.Minute)
		n.cut = false
		for i, want := range []int{3, 1, 1} {
			began := time.Now()
			if _, err := a.Ask(t.Context(), b.name, open(i+1)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != time.Duration(want)*2*trip {
				t.Errorf("ask %d took %v, want %d round trips of %v", i, took, want, 2*trip)
			}
		}
		passes(t, time.Second)
		if got := a.States()[0].RTT; got != 2*trip {
			t.Errorf("round trip %v, want %v", got, 2*trip)
		}
		stopA()
		stopB()
	})
}

// BenchmarkAsk is how many names are negotiated a second on one link, 64 at a time, over sockets of the machine.
func BenchmarkAsk(b *testing.B) {
	x, y := newEdge(b, 1), newEdge(b, 2)
	x.listening(b)
	y.listening(b)
	x.knows(y)
	y.knows(x)
	y.answer = accepts
	y.start(b)
	x.start(b)
	x.await(b, "up", func() bool { return x.keys != nil })
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if m, err := x.Ask(b.Context(), y.name, open(1)); err != nil {
				b.Error(err)
			} else if _, is := m.(wire.Accept); !is {
				b.Errorf("answer %+v", m)
			}
		}
	})
}
