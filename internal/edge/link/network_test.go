package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/certificate"
)

const testWait = 2 * time.Second

// edge is one end in tests: its links, and a handler that writes down what it is told.
type edge struct {
	*Links
	name    model.Name
	pair    certificate.Pair
	address netip.AddrPort
	options Options
	answer  func(e *edge, peer model.Name, m wire.Message) // to what it hears
	ended   chan error                                     // of Run

	mu       sync.Mutex
	peers    []Peer
	told     []string // up, down, with the peer's name
	keys     Keys     // of the last Up
	hello    wire.Hello
	messages []wire.Message
	rejected []error
	mtu      []int
	change   chan struct{} // closed at the next call of the handler
}

// newEdge makes an edge that runs when start is called. Its number is in its name, its address and its VNI.
func newEdge(t testing.TB, number int) *edge {
	t.Helper()
	e := &edge{
		name: model.Name(fmt.Sprintf("edge%d.example.", number)), pair: certificate.SelfSigned(t, certificate.ForNames(fmt.Sprintf("edge%d.example", number))),
		address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(number), 1}), 48001), change: make(chan struct{}), ended: make(chan error, 1),
	}
	began := time.Now()
	var random sync.Mutex
	source := rand.New(rand.NewPCG(uint64(number), 21)) //nolint:gosec // a test's
	e.options = Options{
		Name: e.name, Certificate: func() tls.Certificate { return *e.pair.TLS() },
		Peers: func() []Peer { e.mu.Lock(); defer e.mu.Unlock(); return e.peers },
		Hello: func(model.Name, Keys) (wire.Hello, error) {
			return wire.Hello{Name: e.name, Process: fmt.Sprintf("%016x", number), Versions: [2]int{1, 1}, VNI: uint32(number)}, nil
		},
		Handler: e, Now: func() model.Instant { return model.Instant(time.Since(began)) },
		Random: func() uint64 { random.Lock(); defer random.Unlock(); return source.Uint64() },
		Wait:   testWait, Handshakes: 32, PerNetwork: 8, Log: slog.New(slog.DiscardHandler),
	}
	return e
}

// knows configures peers, by their own keys.
func (e *edge) knows(peers ...*edge) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range peers {
		e.peers = append(e.peers, Peer{Name: p.name, Address: p.address, Pins: [][32]byte{Pin(p.pair.Certificate)}})
	}
}

// start runs it until the test ends, or the function that it returns is called; that one waits.
func (e *edge) start(t testing.TB) (stop func()) {
	t.Helper()
	e.Links = New(e.options)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { e.ended <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-e.ended; err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (e *edge) tell(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
	close(e.change)
	e.change = make(chan struct{})
}

func (e *edge) Up(p model.Name, h wire.Hello, k Keys) error {
	e.tell(func() { e.told = append(e.told, "up "+p.String()); e.hello, e.keys = h, k })
	return nil
}

func (e *edge) Down(p model.Name, _ error) {
	e.tell(func() { e.told = append(e.told, "down "+p.String()) })
}

func (e *edge) Heard(p model.Name, m wire.Message) {
	e.tell(func() { e.messages = append(e.messages, m) })
	if e.answer != nil {
		e.answer(e, p, m)
	}
}

func (e *edge) MTU(_ model.Name, inner int) { e.tell(func() { e.mtu = append(e.mtu, inner) }) }

func (e *edge) Rejected(_ netip.AddrPort, _ model.Name, why error) {
	e.tell(func() { e.rejected = append(e.rejected, why) })
}

// await waits until the edge is as it should be, and fails after a time that only a fault takes.
func (e *edge) await(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		e.mu.Lock()
		change := e.change
		done := is()
		e.mu.Unlock()
		if done {
			return
		}
		select {
		case <-change:
		case <-deadline:
			t.Fatalf("%s: never came: %s; told %v, rejected %v", e.name, what, e.told, e.rejected)
		}
	}
}

// accepts answers every open with accept, of the tag that was asked by.
func accepts(e *edge, peer model.Name, m wire.Message) {
	if o, is := m.(wire.Open); is {
		_ = e.Send(peer, wire.Accept{ID: o.ID, Tag: o.Tag + 1, Host: o.Host})
	}
}

// open is one that keeps all bounds.
func open(tag int) wire.Open {
	return wire.Open{From: "hosta.a.example.", To: "hostb.b.example.", Tag: wire.Tag(tag), Round: 1}
}

// network joins edges by pipes, in a synctest bubble: a dial takes a while, as the scheduler of the test says.
type network struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]chan net.Conn
	delay     func() time.Duration // before each dial; nil: none
	cut       bool
	way       time.Duration // of what is written, one way
	conns     []*end
	dials     []time.Time
}

func newNetwork() *network { return &network{listeners: map[netip.AddrPort]chan net.Conn{}} }

// join gives the edges this network.
func (n *network) join(edges ...*edge) {
	for _, e := range edges {
		e.options.Listen = func() (net.Listener, error) { return n.listen(e.address), nil }
		e.options.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) { return n.dial(ctx, e.address, to) }
	}
}

var errRefused = errors.New("connection refused")

func (n *network) dial(ctx context.Context, from, to netip.AddrPort) (net.Conn, error) {
	if n.delay != nil && !pause(ctx, n.delay()) {
		return nil, ctx.Err()
	}
	n.mu.Lock()
	n.dials = append(n.dials, time.Now())
	l, cut := n.listeners[to], n.cut
	n.mu.Unlock()
	if l == nil || cut {
		return nil, errRefused
	}
	a, b := net.Pipe()
	if n.way > 0 {
		a, b = newFar(a, n.way), newFar(b, n.way)
	}
	gone := new(atomic.Bool)
	near, far := &end{a, from, to, gone, make(chan struct{})}, &end{b, to, from, gone, make(chan struct{})}
	select {
	case l <- far:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, near, far)
	return near, nil
}

// breakAll closes what is open, without a word.
func (n *network) breakAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

func (n *network) listen(at netip.AddrPort) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := make(chan net.Conn)
	n.listeners[at] = c
	return &pipes{n: n, at: at, conns: c, closed: make(chan struct{})}
}

// vanish ends the connections of one side, of which the other learns nothing.
func (n *network) vanish(side *edge) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		if c.local.Addr() == side.address.Addr() {
			c.gone.Store(true)
			_ = c.Close()
		}
	}
	n.conns = nil
}

// end is one end of a connection.
type end struct {
	net.Conn
	local, remote netip.AddrPort
	gone          *atomic.Bool // one end is, without a word
	closed        chan struct{}
}

func (e *end) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(e.local) }
func (e *end) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(e.remote) }

func (e *end) Read(buf []byte) (int, error) {
	n, err := e.Conn.Read(buf)
	if err != nil && e.gone.Load() {
		<-e.closed
	}
	return n, err
}

func (e *end) Write(buf []byte) (int, error) {
	n, err := e.Conn.Write(buf)
	if err != nil && e.gone.Load() {
		return len(buf), nil
	}
	return n, err
}

func (e *end) Close() error {
	select {
	case <-e.closed:
	default:
		close(e.closed)
	}
	return e.Conn.Close()
}

// pipes is a listener.
type pipes struct {
	n      *network
	at     netip.AddrPort
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() {
		close(p.closed)
		p.n.mu.Lock()
		defer p.n.mu.Unlock()
		if p.n.listeners[p.at] == p.conns {
			delete(p.n.listeners, p.at)
		}
	})
	return nil
}

func (p *pipes) Addr() net.Addr { return net.TCPAddrFromAddrPort(p.at) }

// passes lets time pass in a bubble, until nobody has anything to do.
func passes(t *testing.T, d time.Duration) {
	t.Helper()
	pause(t.Context(), d)
	synctest.Wait()
}

// calls are what the handler was told of links so far.
func (e *edge) calls() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.told)
}

// rejections are why connections were none.
func (e *edge) rejections() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.rejected)
}
