package edge

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// fakePlane is a data plane in memory.
type fakePlane struct {
	mu    sync.Mutex
	edges datapath.Edges
	links map[uint32]datapath.EdgeLink
	keys  map[string][16]byte
	pacts map[uint32]datapath.Pact // by our own tag
	ended int
	fail  error // of PutPact

	failEnd error // of EndPacts
}

func newPlane() *fakePlane {
	return &fakePlane{links: map[uint32]datapath.EdgeLink{}, keys: map[string][16]byte{}, pacts: map[uint32]datapath.Pact{}}
}

func (f *fakePlane) locked(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return do()
}

func (f *fakePlane) SetEdges(e datapath.Edges) error {
	return f.locked(func() error { f.edges = e; return nil })
}

func (f *fakePlane) Edges() (e datapath.Edges, err error) {
	return e, f.locked(func() error { e = f.edges; return nil })
}

func (f *fakePlane) PutEdgeLink(l datapath.EdgeLink) error {
	return f.locked(func() error { f.links[l.Number] = l; return nil })
}

func (f *fakePlane) PutEdgeKey(number uint32, out bool, epoch uint8, key [16]byte) error {
	return f.locked(func() error {
		if _, is := f.links[number]; !is {
			return errors.New("no such link")
		}
		f.keys[fmt.Sprintf("%d %t %d", number, out, epoch)] = key
		return nil
	})
}

func (f *fakePlane) EndEdgeLink(number uint32) error {
	return f.locked(func() error { delete(f.links, number); return nil })
}

func (f *fakePlane) EdgeLinks(visit func(datapath.EdgeLink) bool) error {
	return f.locked(func() error {
		for _, l := range f.links {
			visit(l)
		}
		return nil
	})
}

func (f *fakePlane) PutPact(p datapath.Pact) error {
	return f.locked(func() error {
		for _, other := range f.pacts {
			if other.Number == p.Number || other.Proxy == p.Proxy {
				return fmt.Errorf("pact %08x and %08x are one", p.Own, other.Own)
			}
		}
		if f.fail == nil {
			f.pacts[p.Own] = p
		}
		return f.fail
	})
}

func (f *fakePlane) ChangePact(p datapath.Pact) error {
	return f.locked(func() error {
		if before, is := f.pacts[p.Own]; !is || before.Peer != p.Peer {
			return errors.New("no such pact")
		}
		f.pacts[p.Own] = p
		return nil
	})
}

func (f *fakePlane) EndPacts(own ...uint32) error {
	return f.locked(func() error {
		if f.failEnd != nil {
			return f.failEnd
		}
		for _, tag := range own {
			delete(f.pacts, tag)
			f.ended++
		}
		return nil
	})
}

func (f *fakePlane) Pacts(visit func(datapath.Pact) bool) error {
	f.mu.Lock()
	all := slices.Collect(maps.Values(f.pacts))
	f.mu.Unlock()
	for _, p := range all {
		visit(p)
	}
	return nil
}

func (f *fakePlane) link(number uint32) datapath.EdgeLink {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.links[number]
}

func (f *fakePlane) allKeys() map[string][16]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.keys)
}

// all are the pacts, by proxy address.
func (f *fakePlane) all() (list []datapath.Pact) {
	_ = f.Pacts(func(p datapath.Pact) bool { list = append(list, p); return true })
	slices.SortFunc(list, func(a, b datapath.Pact) int { return a.Proxy.Compare(b.Proxy) })
	return list
}

// fakeNames are hosts with what they open.
type fakeNames map[model.Name]fakeHost

type fakeHost struct {
	address netip.Addr
	open    []model.Port
}

func (n fakeNames) Reverse(a netip.Addr) (model.Name, bool) {
	for name, h := range n {
		if h.address == a {
			return name, true
		}
	}
	return "", false
}

func (n fakeNames) Reach(name model.Name) (netip.Addr, []model.Port, bool) {
	h, known := n[name]
	return h.address, h.open, known
}

// fakeStore is a store in memory.
type fakeStore struct {
	mu sync.Mutex
	of map[string][]byte
}

func (f *fakeStore) Change(_ string, put map[string][]byte, remove []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(f.of, put)
	for _, key := range remove {
		delete(f.of, key)
	}
	return nil
}

func (f *fakeStore) Each(_ string, visit func(string, []byte) error) error {
	f.mu.Lock()
	all := maps.Clone(f.of)
	f.mu.Unlock()
	for key, value := range all {
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}

// network is where edges dial each other, in memory.
type network struct {
	mu        sync.Mutex
	listeners map[netip.AddrPort]*listener
	cut       bool
	listening sync.WaitGroup // for edges that have not begun to
}

type listener struct {
	net.Listener
	at    netip.AddrPort
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error { l.once.Do(func() { close(l.done) }); return nil }

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }

// conn is an end whose address is what the network says.
type conn struct {
	net.Conn
	remote netip.AddrPort
}

func (c conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

func (n *network) listen(at netip.AddrPort) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{at: at, conns: make(chan net.Conn, 16), done: make(chan struct{})}
	if n.listeners[at] == nil {
		n.listening.Done()
	}
	n.listeners[at] = l
	return l, nil
}

func (n *network) dial(ctx context.Context, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	l, cut := n.listeners[to], n.cut
	n.mu.Unlock()
	if l == nil || cut {
		return nil, errors.New("connection refused")
	}
	here, there := net.Pipe()
	select {
	case l.conns <- conn{there, netip.AddrPortFrom(from, 4242)}:
		return conn{here, to}, nil
	case <-l.done:
	case <-ctx.Done():
	}
	return nil, errors.New("connection refused")
}

// events are those that were told.
type events struct {
	mu  sync.Mutex
	all []event.Event
}

func (e *events) Emit(ev event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// testEdge is a service with all around it.
type testEdge struct {
	*Service
	plane  *fakePlane
	names  fakeNames
	kept   *fakeStore
	c      settings.Edges
	stop   func(*testing.T)
	events events
	keeps  atomic.Bool // the data plane outlives a stop
}

var (
	hostA = netip.MustParseAddr("10.0.0.100")
	hostB = netip.MustParseAddr("10.0.0.100") // the same: each is behind its own edge
)

// newPair makes two edges that know each other, a.example and b.example, each with a host; change may change their configurations.
func newPair(t *testing.T, change func(a, b *testEdge)) (a, b *testEdge) {
	t.Helper()
	n := &network{listeners: map[netip.AddrPort]*listener{}}
	a, b = newTestEdge(n, "a", "198.18.0.1:48001"), newTestEdge(n, "b", "203.0.113.9:48001")
	for _, pair := range [][2]*testEdge{{a, b}, {b, a}} {
		one, other := pair[0], pair[1]
		key, err := ownKey(other.kept)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		one.c.Peers = []settings.Peer{{Name: other.c.Name, Zones: other.c.Zones, Address: other.c.Listen, Pins: [][32]byte{pinOfKey(der)}}}
	}
	if change != nil {
		change(a, b)
	}
	n.listening.Add(2)
	a.start(t)
	b.start(t)
	n.listening.Wait()
	return a, b
}

func newTestEdge(n *network, letter string, listen string) *testEdge {
	zone := model.Name(letter + ".example.")
	e := &testEdge{plane: newPlane(), kept: &fakeStore{of: map[string][]byte{}}, names: fakeNames{
		model.Name("host" + letter + "." + string(zone)): {hostA, []model.Port{{Protocol: model.TCP, Port: 80, To: 8080}}},
	}}
	settings.New(&e.c, nil, nil, nil)
	e.c.Name, e.c.Zones, e.c.Realm, e.c.Listen, e.c.Proxy = "edge."+zone, []model.Name{zone}, []model.Name{zone}, netip.MustParseAddrPort(listen), netip.MustParsePrefix("172.31.0.0/16")
	e.c.Out = []settings.Rule{{From: []model.Name{"*"}, To: []model.Name{"*"}}}
	e.c.In = []settings.Rule{{From: []model.Name{"*"}, To: []model.Name{"*"}}}
	began := time.Now()
	e.Service = New(Options{
		Plane: func() Plane { return e.plane }, Events: &e.events, Keeps: e.keeps.Load,
		Now: func() model.Instant { return model.Instant(time.Since(began)) + 1 }, Listen: n.listen, Dial: n.dial, Log: slog.New(slog.DiscardHandler),
	})
	return e
}

func pinOfKey(der []byte) [32]byte { return link.Pin(&x509.Certificate{RawSubjectPublicKeyInfo: der}) }

func (e *testEdge) start(t *testing.T) {
	t.Helper()
	change, err := e.Prepare(e.kept, "", e.names, e.c)
	if err == nil {
		err = change.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	change.Settle()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	e.stop = func(t *testing.T) {
		cancel()
		if err := errors.Join(<-ended, e.Stop()); err != nil {
			t.Errorf("%s: %v", e.c.Name, err)
		}
		e.stop = func(*testing.T) {}
	}
	t.Cleanup(func() { e.stop(t) })
}

// setFailEnd has EndPacts fail, or not.
func (f *fakePlane) setFailEnd(err error) {
	_ = f.locked(func() error { f.failEnd = err; return nil })
}
