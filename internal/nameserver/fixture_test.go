package nameserver

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// testDirectory is a realm as the registry would present it. Names that begin
// with "*." are wildcards; a host's own name does not begin with "www.".
type testDirectory map[model.Name]Entry

func (d testDirectory) Find(name model.Name) (Entry, bool) {
	entry, ok := d[name]
	if ok || d.Exists(name) || strings.HasPrefix(string(name), "_") {
		return entry, ok
	}
	for encloser := name; encloser != ""; {
		_, rest, _ := strings.Cut(string(encloser), ".")
		if encloser = model.Name(rest); d.Exists(encloser) {
			entry, ok = d["*."+encloser]
			entry.Encloser = encloser
			return entry, ok
		}
	}
	return Entry{}, false
}

func (d testDirectory) Exists(name model.Name) bool {
	for known := range d {
		if known.In(name) {
			return true
		}
	}
	return false
}

func (d testDirectory) Reverse(address netip.Addr) (model.Name, bool) {
	for name, entry := range d {
		if entry.Address == address && !strings.HasPrefix(string(name), "www.") {
			return name, true
		}
	}
	return "", false
}

func (d testDirectory) Lent(zone model.Name) []model.Name {
	var names []model.Name
	for name, entry := range d {
		if entry.lent() && name.In(zone) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (d testDirectory) WebNames(zone model.Name) []model.Name {
	var names []model.Name
	for name, entry := range d {
		if entry.web() && name.In(zone) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var everything = []model.Port{{}}

func ports(texts ...string) []model.Port {
	var list []model.Port
	for _, text := range texts {
		port, err := model.ParsePort(text)
		if err != nil {
			panic(err)
		}
		list = append(list, port)
	}
	return list
}

func realm() Directory {
	address := netip.MustParseAddr("10.0.0.100")
	return testDirectory{
		"hosta.foo.example.":      {Address: address, Ports: everything, Parent: true},
		"www.hosta.foo.example.":  {Address: address, Ports: ports("tcp/80:8080")},
		"dns.deep.a.foo.example.": {Address: netip.MustParseAddr("10.0.0.101"), Ports: ports("udp/53:5353")},
		"inner.foo.example.":      {Address: netip.MustParseAddr("198.51.100.9"), Ports: everything},
		"x.child.foo.example.":    {Address: netip.MustParseAddr("10.0.0.102"), Ports: everything},
	}
}

// testAllocator lends one address, or returns err; hook, if set, decides first.
type testAllocator struct {
	mu    sync.Mutex
	asked []Question
	err   error
	hook  func(context.Context, Question)
}

var lent = netip.MustParseAddr("198.18.0.33")

func (a *testAllocator) Allocate(ctx context.Context, question Question) (Answer, error) {
	a.mu.Lock()
	a.asked = append(a.asked, question)
	err, hook := a.err, a.hook
	a.mu.Unlock()
	if hook != nil {
		hook(ctx, question)
	}
	return Answer{Address: lent}, err
}

func (a *testAllocator) questions() []Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Question(nil), a.asked...)
}

var testZones = newZones("foo.example.", "child.foo.example.")

func publicOptions(allocator Allocator) PublicOptions {
	return PublicOptions{
		Zones: testZones, Nameserver: "ns.foo.example.", NameserverAddress: netip.MustParseAddr("198.18.0.1"),
		Serial: 7, Directory: realm, Allocator: allocator,
	}
}

func newPublic(t testing.TB, change func(*PublicOptions)) (*Public, *testAllocator) {
	t.Helper()
	allocator := &testAllocator{}
	options := publicOptions(allocator)
	if change != nil {
		change(&options)
	}
	server, err := NewPublic(options)
	if err != nil {
		t.Fatal(err)
	}
	return server, allocator
}

func newPrivate(t testing.TB, change func(*PrivateOptions)) *Private {
	t.Helper()
	options := PrivateOptions{
		Zones: testZones, Nameserver: "ns.foo.example.", NameserverAddress: netip.MustParseAddr("10.0.0.1"),
		Serial: 7, Directory: realm, CacheSize: 100,
	}
	if change != nil {
		change(&options)
	}
	server, err := NewPrivate(options)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

var asker = netip.MustParseAddrPort("198.51.100.7:4242")

// through gives a message to a responder without sockets and waits for the reply.
func through(r responder, message []byte, transport Transport) []byte {
	return throughFrom(r, message, transport, asker)
}

func throughFrom(r responder, message []byte, transport Transport, from netip.AddrPort) []byte {
	reply, later := r.respond(context.Background(), message, from, transport, nil)
	if later != nil {
		return later(context.Background(), nil, nil)
	}
	return reply
}

func request(name string, qtype uint16) *dns.Msg { return new(dns.Msg).SetQuestion(name, qtype) }

func packed(t testing.TB, m *dns.Msg) []byte {
	t.Helper()
	wire, err := m.Pack()
	if err != nil {
		t.Fatalf("pack the query: %v", err)
	}
	return wire
}

func unpacked(t testing.TB, wire []byte) *dns.Msg {
	t.Helper()
	m := new(dns.Msg)
	if err := m.Unpack(wire); err != nil {
		t.Fatalf("unpack the reply %x: %v", wire, err)
	}
	return m
}

// texts writes records on one line each, blanks for tabs.
func texts(records []dns.RR) []string {
	var lines []string
	for _, record := range records {
		lines = append(lines, strings.ReplaceAll(record.String(), "\t", " "))
	}
	return lines
}

type server interface {
	Serve(context.Context, net.PacketConn, net.Listener) error
}

// start serves on loopback, UDP and TCP on the same port, until the test ends.
func start(t testing.TB, s server) (address string) {
	t.Helper()
	packets, listener := sockets(t)
	serveUntilEnd(t, s, packets, listener)
	return listener.Addr().String()
}

func serveUntilEnd(t testing.TB, s server, packets net.PacketConn, listener net.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, packets, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve ended with %v", err)
		}
	})
}

func sockets(t testing.TB) (*net.UDPConn, net.Listener) {
	t.Helper()
	for range 100 { // the port that TCP gets may be taken for UDP
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", listener.Addr().String())
		if err == nil {
			return packets.(*net.UDPConn), listener
		}
		_ = listener.Close()
	}
	t.Fatal("no port is free for both UDP and TCP")
	return nil, nil
}

// ask sends m over a transport and fails the test if no reply comes.
func ask(t testing.TB, address, network string, m *dns.Msg) *dns.Msg {
	t.Helper()
	client := dns.Client{Net: network}
	reply, _, err := client.Exchange(m, address)
	if err != nil {
		t.Fatalf("ask %s over %s: %v", m.Question[0].String(), network, err)
	}
	return reply
}

// newZones makes zones that hold nothing but what the Directory knows.
func newZones(names ...model.Name) []Zone {
	zones := make([]Zone, 0, len(names))
	for _, name := range names {
		zones = append(zones, Zone{Name: name})
	}
	return zones
}
