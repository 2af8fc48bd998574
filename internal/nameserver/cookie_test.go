package nameserver

import (
	"encoding/hex"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
)

func octets(t testing.TB, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The examples of RFC 9018, appendix A, so that other servers of the same name
// take our cookies.
func TestRFC9018_S4_Vectors(t *testing.T) {
	first, second := "e5e973e5a6b2a43f48e7dc849e37bfcf", "445536bcd2513298075a5d379663c962"
	old := "dd3bdf9344b678b185a6f5cb60fca715"
	for _, test := range []struct {
		about, secrets, asker string
		now                   int64
		sent                  string // client cookie and server cookie
		proved                bool
		next                  string
	}{
		{"A.1 a new client", first, "198.51.100.100", 1559731985, "2464c4abcf10c957", false, "010000005cf79f111f8130c3eee29480"},
		{"A.2 renewed after 40 minutes", first, "198.51.100.100", 1559734385, "2464c4abcf10c957010000005cf79f111f8130c3eee29480", true, "010000005cf7a871d4a564a1442aca77"},
		{"A.4 with the old secret", second + old, "2001:db8:220:1:59de:d0f4:8769:82b8", 1559741961, "22681ab97d52c298010000005cf7c57926556bd0934c72f8", true, "010000005cf7c609a6bb79d16625507a"},
	} {
		t.Run(test.about, func(t *testing.T) {
			var secrets []CookieSecret
			for secret := range slices.Chunk(octets(t, test.secrets), 16) {
				secrets = append(secrets, CookieSecret(secret))
			}
			c, err := newCookies(secrets, func() time.Time { return time.Unix(test.now, 0) })
			if err != nil {
				t.Fatal(err)
			}
			var option cookieOption
			option.read(octets(t, test.sent))
			proved, next := c.check(&option, netip.MustParseAddr(test.asker))
			if proved != test.proved || hex.EncodeToString(next[:]) != test.next {
				t.Errorf("%v, %x", proved, next)
			}
		})
	}
}

func withCookie(name string, qtype uint16, cookie string) *dns.Msg {
	m := request(name, qtype).SetEdns0(1232, false)
	m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: cookie}}
	return m
}

func cookieOf(m *dns.Msg) string {
	if opt := m.IsEdns0(); opt != nil {
		for _, option := range opt.Option {
			if cookie, ok := option.(*dns.EDNS0_COOKIE); ok {
				return cookie.Cookie
			}
		}
	}
	return ""
}

const testClientCookie = "0123456789abcdef"

// A cookie learnt by TCP proves the address over UDP: the answer comes at once,
// and may be longer than the question.
func TestCookieProvesTheAddress(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	secret := CookieSecret{1, 2, 3}
	change := func(o *PublicOptions) {
		o.Wall = func() time.Time { return now }
		o.CookieSecrets = []CookieSecret{secret}
	}
	server, allocator := newPublic(t, change)
	const name = "www.hosta.foo.example."
	// Without a server cookie UDP says no more than TC=1, and has no room for one.
	query := packed(t, withCookie(name, dns.TypeA, testClientCookie))
	if wire := through(server, query, UDP); len(wire) > len(query) || !unpacked(t, wire).Truncated || cookieOf(unpacked(t, wire)) != "" {
		t.Errorf("client cookie over UDP: %v", unpacked(t, wire))
	}
	learnt := cookieOf(unpacked(t, through(server, query, TCP)))
	if len(learnt) != 48 || learnt[:16] != testClientCookie {
		t.Fatalf("learnt %q over TCP", learnt)
	}
	before := len(allocator.questions())
	good := packed(t, withCookie(name, dns.TypeA, learnt))
	if reply := unpacked(t, through(server, good, UDP)); len(reply.Answer) != 1 || reply.Truncated || cookieOf(reply) != learnt {
		t.Errorf("with a cookie: %v", reply)
	}
	asked := allocator.questions()[before:]
	if len(asked) != 1 || !asked[0].Verified || asked[0].Transport != UDP {
		t.Errorf("asked the allocator %+v", asked)
	}
	if reply := unpacked(t, through(server, packed(t, withCookie(name, dns.TypeAAAA, learnt)), UDP)); len(reply.Ns) != 1 {
		t.Errorf("AAAA with a cookie: %v", reply)
	}
	other := netip.MustParseAddrPort("198.51.100.8:4242")
	rejected := func(about string, s *Public, from netip.AddrPort, cookie string) {
		t.Helper()
		query := packed(t, withCookie(name, dns.TypeA, cookie))
		wire := throughFrom(s, query, UDP, from)
		reply := unpacked(t, wire)
		if len(reply.Answer) != 0 || !reply.Truncated || len(wire) > len(query) {
			t.Errorf("%s: %v", about, reply)
		}
		if fresh := cookieOf(reply); len(cookie) == 48 && (fresh == cookie || fresh[:16] != cookie[:16]) {
			t.Errorf("%s: the reply's cookie is %q", about, fresh)
		}
	}
	rejected("from another address", server, other, learnt)
	rejected("another client's", server, asker, "fedcba9876543210"+learnt[16:])
	rejected("changed", server, asker, learnt[:46]+"00")
	rejected("of another length", server, asker, learnt+"00")
	// A server started again with the secret takes it; one with another does not.
	again, _ := newPublic(t, change)
	if reply := unpacked(t, through(again, good, UDP)); len(reply.Answer) != 1 {
		t.Errorf("after a restart: %v", reply)
	}
	stranger, _ := newPublic(t, func(o *PublicOptions) { change(o); o.CookieSecrets = nil })
	rejected("another secret", stranger, asker, learnt)
	now = now.Add(40 * time.Minute)
	reply := unpacked(t, through(server, good, UDP))
	if fresh := cookieOf(reply); len(reply.Answer) != 1 || fresh == learnt || len(fresh) != 48 {
		t.Errorf("renewed: %v", reply)
	}
	now = now.Add(21 * time.Minute)
	rejected("older than an hour", server, asker, learnt)
	now = now.Add(-67 * time.Minute)
	rejected("made in more than 5 minutes", server, asker, learnt)
}

func TestMalformedCookies(t *testing.T) {
	server, _ := newPublic(t, nil)
	for _, length := range []int{0, 1, 7, 9, 15, 41, 100} {
		m := request("hosta.foo.example.", dns.TypeA).SetEdns0(1232, false)
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_LOCAL{Code: dns.EDNS0COOKIE, Data: make([]byte, length)}}
		if reply := unpacked(t, through(server, packed(t, m), TCP)); reply.Rcode != dns.RcodeFormatError {
			t.Errorf("%d octets: %v", length, reply)
		}
	}
	if _, err := NewPublic(PublicOptions{CookieSecrets: make([]CookieSecret, 1)}); err == nil {
		t.Error("a secret of zeros was accepted")
	}
}
