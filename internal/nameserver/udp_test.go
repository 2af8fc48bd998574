package nameserver

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

var everyName = []string{
	"hosta.foo.example.", "www.hosta.foo.example.", "foo.example.", "ns.foo.example.", "deep.a.foo.example.",
	"nobody.foo.example.", "example.net.", ".", `wei\.rd.foo.example.`,
}

var everyType = []uint16{
	dns.TypeA, dns.TypeAAAA, dns.TypeNS, dns.TypeSOA, dns.TypeTXT, dns.TypeSRV, dns.TypeANY, dns.TypeDS, dns.TypeAXFR, dns.TypeHTTPS,
}

func TestUDPNeverAmplifies(t *testing.T) {
	for _, verify := range []Verify{VerifyTCP, VerifyNone} {
		server, allocator := newPublic(t, func(o *PublicOptions) { o.Verify = verify })
		for _, name := range everyName {
			for _, qtype := range everyType {
				for _, size := range []uint16{0, 100, 512, 4096} {
					m := request(name, qtype)
					if size > 0 {
						m.SetEdns0(size, true)
					}
					query := packed(t, m)
					wire := through(server, query, UDP)
					reply := unpacked(t, wire)
					allowed := len(query)
					if verify == VerifyNone && len(reply.Answer) == 1 && reply.Answer[0].Header().Rrtype == dns.TypeA {
						allowed += 16
					}
					if len(wire) > allowed {
						t.Errorf("%s %s: %d octets for %d", name, dns.Type(qtype), len(wire), len(query))
					}
					if (reply.IsEdns0() != nil) != (size > 0) {
						t.Errorf("%s %s: OPT %v for size %d", name, dns.Type(qtype), reply.IsEdns0(), size)
					}
				}
			}
		}
		if allocated := len(allocator.questions()); (allocated > 0) != (verify == VerifyNone) {
			t.Errorf("verify %d: %d allocations", verify, allocated)
		}
	}
}

func TestVerifyTCPAllocatesNothingOverUDP(t *testing.T) {
	server, allocator := newPublic(t, nil)
	m := request("hosta.foo.example.", dns.TypeA).SetEdns0(4096, false)
	// Even a query long enough for the answer does not prove an address.
	m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_PADDING{Padding: make([]byte, 200)}}
	reply := unpacked(t, through(server, packed(t, m), UDP))
	if !reply.Truncated || len(reply.Answer)+len(reply.Ns) != 0 || !reply.Authoritative || reply.Rcode != dns.RcodeSuccess {
		t.Errorf("got %v", reply)
	}
	if asked := allocator.questions(); len(asked) != 0 {
		t.Errorf("allocated %v", asked)
	}
	if s := server.Statistics(); s.Truncated != 1 {
		t.Errorf("counters %+v", s)
	}
}

func TestPaddedQueryGetsItsAnswerOverUDP(t *testing.T) {
	server, _ := newPublic(t, nil)
	m := request("foo.example.", dns.TypeSOA).SetEdns0(4096, false)
	m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_PADDING{Padding: make([]byte, 200)}}
	if reply := unpacked(t, through(server, packed(t, m), UDP)); reply.Truncated || len(reply.Answer) != 1 {
		t.Errorf("got %v", reply)
	}
	m.IsEdns0().Option = nil
	if reply := unpacked(t, through(server, packed(t, m), UDP)); !reply.Truncated || len(reply.Answer) != 0 {
		t.Errorf("got %v", reply)
	}
}

func TestEDNSReply(t *testing.T) {
	server, _ := newPublic(t, nil)
	for _, do := range []bool{false, true} {
		reply := unpacked(t, through(server, packed(t, request("foo.example.", dns.TypeSOA).SetEdns0(4096, do)), TCP))
		opt := reply.IsEdns0()
		if opt == nil || opt.Version() != 0 || opt.UDPSize() != ownSize || opt.Do() != do || len(opt.Option) != 0 {
			t.Errorf("DO %v: OPT %v", do, opt)
		}
	}
}

func TestTruncatedOverUDPThenTCP(t *testing.T) {
	server, allocator := newPublic(t, nil)
	address := start(t, server)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT} {
		m := request("www.hosta.foo.example.", qtype)
		if reply := ask(t, address, "udp", m); !reply.Truncated {
			t.Errorf("%s over UDP: %v", dns.Type(qtype), reply)
		}
		if reply := ask(t, address, "tcp", m); reply.Truncated || len(reply.Answer)+len(reply.Ns) != 1 {
			t.Errorf("%s over TCP: %v", dns.Type(qtype), reply)
		}
	}
	asked := allocator.questions()
	if len(asked) != 1 || asked[0].Transport != TCP || asked[0].Client.Addr().String() != "127.0.0.1" {
		t.Errorf("asked the allocator %+v", asked)
	}
	if s := server.Statistics(); s.QueriesUDP != 3 || s.QueriesTCP != 3 || s.Truncated != 3 || s.Allocated != 1 {
		t.Errorf("counters %+v", s)
	}
}

func TestVerifyNoneAnswersOverUDP(t *testing.T) {
	server, _ := newPublic(t, func(o *PublicOptions) { o.Verify = VerifyNone })
	address := start(t, server)
	reply := ask(t, address, "udp", request("wWw.hostA.foo.example.", dns.TypeA))
	if got := texts(reply.Answer); !slices.Equal(got, []string{"wWw.hostA.foo.example. 0 IN A 198.18.0.33"}) {
		t.Errorf("got %v", reply)
	}
}

// The library wants room for a whole label where it writes a pointer.
func TestLongLabelGetsItsAddressOverUDP(t *testing.T) {
	name := strings.Repeat("a", 63) + ".foo.example."
	server, _ := newPublic(t, func(o *PublicOptions) {
		o.Verify = VerifyNone
		o.Directory = func() Directory { return testDirectory{model.Name(name): {Address: lent, Ports: everything}} }
	})
	if reply := unpacked(t, through(server, packed(t, request(name, dns.TypeA)), UDP)); len(reply.Answer) != 1 {
		t.Errorf("got %v", reply)
	}
}

// A socket for both families sees IPv4 askers as ::ffff:127.0.0.1, but limits
// count by the IPv4 address.
func TestClientIsAnIPv4Address(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) { o.Verify = VerifyNone })
	packets, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	serveUntilEnd(t, server, packets, nil)
	_, port, err := net.SplitHostPort(packets.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	ask(t, net.JoinHostPort("127.0.0.1", port), "udp", request("hosta.foo.example.", dns.TypeA))
	if client := allocator.questions()[0].Client; !client.Addr().Is4() {
		t.Errorf("the client is %v", client)
	}
}

func TestUDPGoesOnAfterGarbage(t *testing.T) {
	server, _ := newPublic(t, nil)
	address := start(t, server)
	conn, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, garbage := range [][]byte{{}, {1}, make([]byte, 11), make([]byte, 3000), make([]byte, 9000)} {
		if _, err := conn.Write(garbage); err != nil {
			t.Fatal(err)
		}
	}
	if reply := ask(t, address, "udp", request("example.net.", dns.TypeA)); reply.Rcode != dns.RcodeRefused {
		t.Errorf("got %v", reply)
	}
	// There are several readers: the question may overtake the garbage.
	s := server.Statistics()
	for end := time.Now().Add(10 * time.Second); s.Ignored+s.Malformed < 5 && time.Now().Before(end); s = server.Statistics() {
		runtime.Gosched()
	}
	if s.Ignored != 3 || s.Malformed != 2 {
		t.Errorf("counters %+v", s)
	}
}

func TestServeReportsABrokenSocket(t *testing.T) {
	server, _ := newPublic(t, nil)
	packets, listener := sockets(t)
	_ = packets.Close()
	if err := server.Serve(t.Context(), packets, listener); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve on a closed socket: %v", err)
	}
}
