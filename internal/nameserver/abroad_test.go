package nameserver

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// testAbroad serves b.example.
type testAbroad struct {
	err    error
	asked  atomic.Int64
	answer AbroadAnswer
}

func (*testAbroad) Owns(name model.Name) bool { return name.In("b.example.") }

func (a *testAbroad) Find(ctx context.Context, q AbroadQuestion) (AbroadAnswer, error) {
	a.asked.Add(1)
	if q.Asker != asker.Addr() || q.Name != "hostb.b.example." {
		return AbroadAnswer{}, fmt.Errorf("asked for %s by %s", q.Name, q.Asker)
	}
	return a.answer, a.err
}

func (a *testAbroad) Reverse(by, address netip.Addr) (model.Name, bool) {
	return "hostb.b.example.", by == asker.Addr() && address == a.answer.Address
}

func abroad() *testAbroad {
	return &testAbroad{answer: AbroadAnswer{Address: netip.MustParseAddr("172.31.2.1"), TTL: 20 * time.Second}}
}

// Names behind an edge have an address there alone: whatever upstream would say of them, an HTTPS record with the hint of a wrong server too,
// is never asked.
func TestEdgeNames(t *testing.T) {
	const negative = "hostb.b.example. 60 IN SOA ns.foo.example. hostmaster.hostb.b.example. 7 3600 600 86400 60"
	for _, test := range []struct {
		name      string
		qtype     uint16
		answer    []string
		authority []string
		found     int64
	}{
		{"hostB.b.example.", dns.TypeA, []string{"hostB.b.example. 20 IN A 172.31.2.1"}, nil, 1},
		{"hostb.b.example.", dns.TypeAAAA, nil, []string{negative}, 0},
		{"hostb.b.example.", dns.TypeHTTPS, nil, []string{negative}, 0},
		{"hostb.b.example.", dns.TypeSVCB, nil, []string{negative}, 0},
		{"hostb.b.example.", dns.TypeTXT, nil, []string{negative}, 0},
		{"1.2.31.172.in-addr.arpa.", dns.TypePTR, []string{"1.2.31.172.in-addr.arpa. 30 IN PTR hostb.b.example."}, nil, 0},
	} {
		var upstream atomic.Int64
		server := upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
			upstream.Add(1)
			answerWith(test.name+" 60 IN HTTPS 1 . ipv4hint=203.0.113.66", test.name+" 60 IN A 203.0.113.66")(w, m)
		})
		a := abroad()
		private := newPrivate(t, func(o *PrivateOptions) { o.Abroad, o.Upstream = a, []netip.AddrPort{server} })
		for round := int64(1); round <= 2; round++ {
			reply := unpacked(t, through(private, packed(t, request(test.name, test.qtype)), UDP))
			if reply.Rcode != 0 || !slices.Equal(texts(reply.Answer), test.answer) || !slices.Equal(texts(reply.Ns), test.authority) {
				t.Errorf("%s %s: got %v", test.name, dns.TypeToString[test.qtype], reply)
			}
			if n := a.asked.Load(); n != test.found*round || upstream.Load() != 0 {
				t.Errorf("%s %s: the edges were asked %d times, upstream %d", test.name, dns.TypeToString[test.qtype], n, upstream.Load())
			}
		}
	}
}

// Who has no pact learns nothing of an address, and a label is not a zone.
func TestEdgeNamesOfOthers(t *testing.T) {
	a := abroad()
	private := newPrivate(t, func(o *PrivateOptions) { o.Abroad = a })
	other := netip.MustParseAddrPort("198.51.100.8:4242")
	if reply := unpacked(t, throughFrom(private, packed(t, request("1.2.31.172.in-addr.arpa.", dns.TypePTR)), UDP, other)); reply.Rcode != dns.RcodeNameError {
		t.Errorf("another asker: %v", reply)
	}
	if reply := unpacked(t, through(private, packed(t, request("evilb.example.", dns.TypeA)), UDP)); reply.Rcode != dns.RcodeRefused || a.asked.Load() != 0 {
		t.Errorf("a name of no peer: %v", reply)
	}
}

// A CNAME of our own zone leads to a name behind an edge.
func TestEdgeNamesByAlias(t *testing.T) {
	private := newPrivate(t, func(o *PrivateOptions) {
		o.Abroad = abroad()
		o.Zones = []Zone{{Name: "foo.example.", Data: parsedZone(t, "foo.example.", "away IN CNAME hostb.b.example.\n")}}
	})
	reply := unpacked(t, through(private, packed(t, request("away.foo.example.", dns.TypeA)), UDP))
	if want := "hostb.b.example. 20 IN A 172.31.2.1"; len(reply.Answer) != 2 || texts(reply.Answer)[1] != want {
		t.Errorf("got %v", reply)
	}
}

// Why there is no answer is said, and what no edge serves is asked as before.
func TestEdgeNamesFail(t *testing.T) {
	upstream := upstreamServer(t, answerWith("hostb.b.example. 60 IN A 203.0.113.66"))
	for _, test := range []struct {
		err    error
		rcode  int
		why    string
		answer bool
	}{
		{&AbroadError{Code: dns.ExtendedErrorCodeProhibited, Text: "the peer refuses: policy", Refused: true}, dns.RcodeRefused, "18 (Prohibited): (the peer refuses: policy)", false},
		{&AbroadError{Code: dns.ExtendedErrorCodeNetworkError, Text: "edge.b.example. cannot be reached"}, dns.RcodeServerFailure, "23 (Network Error): (edge.b.example. cannot be reached)", false},
		{ErrNotAbroad, dns.RcodeSuccess, "", true},
		{fmt.Errorf("some error"), dns.RcodeServerFailure, "", false},
	} {
		a := abroad()
		a.err = test.err
		private := newPrivate(t, func(o *PrivateOptions) { o.Abroad, o.Upstream = a, []netip.AddrPort{upstream} })
		reply := unpacked(t, through(private, packed(t, request("hostb.b.example.", dns.TypeA).SetEdns0(1232, false)), UDP))
		if reply.Rcode != test.rcode || (len(reply.Answer) > 0) != test.answer {
			t.Errorf("%v: got %v", test.err, reply)
		}
		if said := reasonOf(reply); said != test.why {
			t.Errorf("%v: said %q", test.err, said)
		}
	}
}
