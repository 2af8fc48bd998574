package link

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// wires are the tunnels' ports of a bubble: packets pass up to a size, in no time.
type wires struct {
	mu    sync.Mutex
	size  int // of outer packets
	local int // what the interface takes
	ports map[netip.AddrPort]*port
	seen  [][]byte
}

type port struct {
	*net.UDPConn // for what is not used
	w            *wires
	at           netip.AddrPort
	in           chan []byte
	closed       chan struct{}
	once         sync.Once
}

func (w *wires) join(edges ...*edge) {
	w.ports = map[netip.AddrPort]*port{}
	for _, e := range edges {
		at := netip.AddrPortFrom(e.address.Addr(), wire.GENEVEPort)
		p := &port{w: w, at: at, in: make(chan []byte, 100), closed: make(chan struct{})}
		w.ports[at] = p
		e.options.Tunnel = func() (net.PacketConn, error) { return p, nil }
	}
}

func (p *port) WriteTo(b []byte, to net.Addr) (int, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	outer := len(b) + 28
	if outer > p.w.local {
		return 0, &net.OpError{Op: "write", Err: unix.EMSGSIZE}
	}
	p.w.seen = append(p.w.seen, slices.Clone(b))
	if far := p.w.ports[to.(*net.UDPAddr).AddrPort()]; far != nil && outer <= p.w.size {
		select {
		case far.in <- slices.Clone(b):
		default:
		}
	}
	return len(b), nil
}

func (p *port) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case in := <-p.in:
		return copy(b, in), nil, nil
	case <-p.closed:
		return 0, nil, net.ErrClosed
	}
}

func (p *port) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (w *wires) carry(size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size = size
}

// said makes an edge say another hello.
func (e *edge) said(change func(h *wire.Hello)) {
	made := e.options.Hello
	e.options.Hello = func(p model.Name, k Keys) (wire.Hello, error) {
		h, err := made(p, k)
		change(&h)
		return h, err
	}
}

// The handler is told what the path carries, both ways, and follows it; a connection that is replaced changes nothing; nobody's word
// counts but the peer's, for a probe that is under way.
func TestTunnelMTU(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, n := both(t)
		w := &wires{size: 1500, local: 1500}
		w.join(a, b)
		a.said(func(h *wire.Hello) { h.Epoch = 7 })
		stopA, stopB := a.start(t), b.start(t)
		passes(t, time.Second)
		mtu := func(e *edge, want ...int) {
			t.Helper()
			e.mu.Lock()
			got := e.mtu
			e.mtu = nil
			e.mu.Unlock()
			if !slices.Equal(got, want) {
				t.Errorf("%s: told %v, want %v", e.name, got, want)
			}
		}
		for _, e := range []*edge{a, b} { // the first probe may have come before the peer was up
			e.mu.Lock()
			if s := e.States()[0]; len(e.mtu) == 0 || e.mtu[len(e.mtu)-1] != 1452 || s.MTU != 1452 {
				t.Errorf("%s: told %v, state %+v; want 1452", e.name, e.mtu, s)
			}
			e.mtu = nil
			e.mu.Unlock()
		}
		w.carry(1420)
		passes(t, 14*time.Second)
		mtu(a, 1372)
		mtu(b, 1372)

		passes(t, 5*time.Second)
		for _, forged := range []wire.Probed{{Nonce: 1, Size: 1500}, {Nonce: 0, Size: 1400}} {
			if err := b.Send(a.name, forged); err != nil {
				t.Error(err)
			}
		}
		w.mu.Lock()
		for _, old := range w.seen { // copies of all there were
			for _, p := range w.ports {
				select {
				case p.in <- old:
				default:
				}
			}
		}
		w.mu.Unlock()
		passes(t, 9*time.Minute)
		mtu(a)
		mtu(b)

		n.vanish(b)
		passes(t, 45*time.Second)
		for _, e := range []*edge{a, b} {
			if got := e.States()[0]; !got.Up || got.MTU != 1372 {
				t.Errorf("on another connection: %+v", got)
			}
			e.mu.Lock()
			if slices.Contains(e.mtu, 1280) {
				t.Errorf("%s: on another connection told %v", e.name, e.mtu)
			}
			e.mtu = nil
			e.mu.Unlock()
		}
		w.carry(0)
		passes(t, 20*time.Second)
		if s := a.States()[0]; s.MTU != 0 {
			t.Errorf("with a tunnel that carries nothing: %+v", s)
		}
		mtu(a, 1280)
		stopA()
		stopB()
	})
}

// Neither side's own limit is passed: the administrator's, the interface's, the peer's.
func TestTunnelMTUIsLimited(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name              string
		a, b, local, want int
	}{
		{"both take 9000", 8952, 8952, 9000, 8952}, {"the peer takes 1352", 8952, 1352, 9000, 1352}, {"we take 1352", 1352, 0, 1500, 1352},
		{"only one says that it takes 9000", 8952, 0, 9000, 1452}, {"our interface takes 1450", 0, 0, 1450, 1402},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b, _ := both(t)
			w := &wires{size: 9000, local: row.local}
			w.join(a, b)
			a.said(func(h *wire.Hello) { h.MTU = row.a })
			b.said(func(h *wire.Hello) { h.MTU = row.b })
			stopA, stopB := a.start(t), b.start(t)
			passes(t, time.Minute)
			for _, e := range []*edge{a, b} {
				if got := e.States()[0].MTU; got != row.want {
					t.Errorf("%s: %s: %d, want %d", row.name, e.name, got, row.want)
				}
			}
			stopA()
			stopB()
		})
	}
}

// Over sockets of the machine: the kernel cuts nothing, and the epoch of an Epoch message is what probes are written with.
func TestListenTunnel(t *testing.T) {
	t.Parallel()
	a, b := newEdge(t, 1), newEdge(t, 2)
	for _, e := range []*edge{a, b} {
		e.listening(t)
		c, err := ListenTunnel(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := c.(*net.UDPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER); err != nil || got != unix.IP_PMTUDISC_PROBE {
				t.Errorf("IP_MTU_DISCOVER is %d, %v", got, err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		at := netip.MustParseAddrPort(c.LocalAddr().String())
		e.options.Tunnel = func() (net.PacketConn, error) { return c, nil }
		e.said(func(h *wire.Hello) {
			h.Locators = []wire.Locator{{Address: netip.MustParseAddr("192.0.2.9"), Priority: 2}, {Address: at.Addr(), Port: at.Port(), Priority: 1}}
		})
	}
	a.knows(b)
	b.knows(a)
	b.start(t)
	a.start(t)
	for _, e := range []*edge{a, b} {
		e.await(t, "1452", func() bool { return slices.Contains(e.mtu, 1452) })
	}
	p := a.peer(b.name)
	got := uint32(0)
	for try := 1; try <= 3 && got != 99; try++ { // both dial: the link may move to the other connection meanwhile
		if err := b.Send(a.name, wire.Epoch{Epoch: 99}); err != nil {
			t.Fatal(err)
		}
		a.await(t, "epoch", func() bool { return len(a.messages) >= try })
		p.mu.Lock()
		got = p.link.epoch.Load()
		p.mu.Unlock()
	}
	if got != 99 {
		t.Errorf("epoch %d, want 99", got)
	}
}

// A port that somebody has is said so, and nothing runs.
func TestTunnelPortIsTaken(t *testing.T) {
	t.Parallel()
	a := newEdge(t, 1)
	a.listening(t)
	taken, err := ListenTunnel(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // a test's
	a.options.Tunnel = func() (net.PacketConn, error) {
		return ListenTunnel(t.Context(), netip.MustParseAddrPort(taken.LocalAddr().String()))
	}
	if err := New(a.options).Run(context.Background()); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("error %v, want %v", err, unix.EADDRINUSE)
	}
}
