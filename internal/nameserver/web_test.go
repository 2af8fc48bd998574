package nameserver

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const webZone = `$TTL 300
@	SOA	ns.foo.example. mail.foo.example. 100 7200 600 86400 120
alias	CNAME	www.foo.example.
www	MX	10 mail.example.net.
`

// sites has web names beside lent ones: a service's, an apex, a wildcard.
func sites() Directory {
	address, web := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("198.18.0.80")
	site := Entry{Address: address, Ports: ports("tcp/443:8443"), Web: web, WebTTL: 5 * time.Minute, HTTPS: &HTTPS{Port: 443, ALPN: []string{"h2"}}}
	brief := Entry{Address: address, Ports: ports("tcp/80", "tcp/443"), Web: web, WebTTL: 10 * time.Second}
	return testDirectory{
		"www.foo.example.": site, "*.shop.foo.example.": site, "foo.example.": brief,
		"ssh.foo.example.": {Address: address, Ports: ports("tcp/22")},
	}
}

func webOptions(t *testing.T) func(*PublicOptions) {
	return func(o *PublicOptions) {
		o.Zones, o.Directory = []Zone{{Name: "foo.example.", Data: parsed(t, "foo.example.", webZone)}}, sites
	}
}

// A web name is answered over UDP at once, each time the same, and nothing is lent.
func TestWebNames(t *testing.T) {
	const a = " IN A 198.18.0.80"
	for _, test := range []struct {
		name  string
		qtype uint16
		want  []string
		ttl   uint32 // of the SOA where there is nothing
	}{
		{"WWW.foo.example.", dns.TypeA, []string{"WWW.foo.example. 300" + a}, 0},
		{"foo.example.", dns.TypeA, []string{"foo.example. 10" + a}, 0},
		{"x.y.shop.foo.example.", dns.TypeA, []string{"x.y.shop.foo.example. 300" + a}, 0},
		{"alias.foo.example.", dns.TypeA, []string{"alias.foo.example. 300 IN CNAME www.foo.example.", "www.foo.example. 300" + a}, 0},
		{"www.foo.example.", dns.TypeAAAA, nil, 120},
		{"foo.example.", dns.TypeAAAA, nil, 10},
		{"foo.example.", dns.TypeHTTPS, nil, 10},
		{"www.foo.example.", dns.TypeHTTPS, []string{`www.foo.example. 60 IN HTTPS 1 . alpn="h2"`}, 0},
		{"www.foo.example.", dns.TypeMX, []string{"www.foo.example. 300 IN MX 10 mail.example.net."}, 0},
		{"www.foo.example.", dns.TypeSRV, []string{"www.foo.example. 60 IN SRV 0 0 443 www.foo.example."}, 0},
	} {
		for _, verify := range []Verify{VerifyTCP, VerifyNone} {
			server, allocator := newPublic(t, func(o *PublicOptions) {
				webOptions(t)(o)
				o.Verify = verify
			})
			for _, transport := range []Transport{UDP, UDP, TCP} {
				reply := unpacked(t, through(server, packed(t, request(test.name, test.qtype)), transport))
				if reply.Truncated || reply.Rcode != dns.RcodeSuccess || !reply.Authoritative || !slices.Equal(texts(reply.Answer), test.want) {
					t.Errorf("%s %s over %s: %v", test.name, dns.Type(test.qtype), transport, reply)
				}
				if test.want == nil && (len(reply.Ns) != 1 || reply.Ns[0].Header().Rrtype != dns.TypeSOA || reply.Ns[0].Header().Ttl != test.ttl) {
					t.Errorf("%s %s over %s lacks it for %v, want %d", test.name, dns.Type(test.qtype), transport, reply.Ns, test.ttl)
				}
			}
			if asked := allocator.questions(); len(asked) > 0 {
				t.Errorf("%s %s: lent for %v", test.name, dns.Type(test.qtype), asked)
			}
		}
	}
}

// A zone without a file has web names, too; what is lent beside them still wants proof.
func TestWebNamesWithoutAFile(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) { o.Zones, o.Directory = newZones("foo.example."), sites })
	if reply := unpacked(t, through(server, packed(t, request("www.foo.example.", dns.TypeA)), UDP)); len(reply.Answer) != 1 || reply.Truncated {
		t.Errorf("a web name: %v", reply)
	}
	if reply := unpacked(t, through(server, packed(t, request("ssh.foo.example.", dns.TypeA)), UDP)); len(reply.Answer) != 0 || !reply.Truncated {
		t.Errorf("a lent name: %v", reply)
	}
	if asked := allocator.questions(); len(asked) > 0 {
		t.Errorf("lent for %v", asked)
	}
}

// The kernel tells nobody to come by TCP for a web name.
func TestWebNamesAreNotLent(t *testing.T) {
	server, _ := newPublic(t, webOptions(t))
	for _, lent := range server.LentNames() {
		if lent.Name != "ssh.foo.example." {
			t.Errorf("%s is lent, with types %v", lent.Name, lent.Types)
		}
	}
}

// What leaves a forged source's network is bounded for web names as for all that is static.
func TestWebNamesOverUDPAreBounded(t *testing.T) {
	now := model.Instant(0)
	server, _ := newPublic(t, func(o *PublicOptions) {
		webOptions(t)(o)
		o.Now, o.StaticRate = func() model.Instant { return now }, 16
	})
	var truncated []bool
	for range 3 {
		reply := unpacked(t, through(server, packed(t, request("www.foo.example.", dns.TypeA)), UDP))
		truncated = append(truncated, reply.Truncated)
	}
	if !slices.Equal(truncated, []bool{false, false, true}) {
		t.Errorf("truncated: %v", truncated)
	}
}

func TestWebNamesInside(t *testing.T) {
	server := newPrivate(t, func(o *PrivateOptions) { o.Directory = sites })
	for name, want := range map[string]string{
		"www.foo.example.": "www.foo.example. 60 IN A 10.0.0.100", "x.shop.foo.example.": "x.shop.foo.example. 60 IN A 10.0.0.100",
	} {
		reply := unpacked(t, through(server, packed(t, request(name, dns.TypeA)), UDP))
		if got := texts(reply.Answer); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v", name, reply)
		}
	}
	reply := unpacked(t, through(server, packed(t, request("www.foo.example.", dns.TypeSRV)), UDP))
	if got := texts(reply.Answer); !slices.Equal(got, []string{"www.foo.example. 60 IN SRV 0 0 8443 www.foo.example."}) {
		t.Errorf("the service: %v", reply)
	}
}

// Secondaries hold web names as they are, an apex and a wildcard among them.
func TestSecondariesHoldWebNames(t *testing.T) {
	server, _ := newPublic(t, func(o *PublicOptions) {
		copying(t, o, webZone)
		o.Directory = sites
	})
	got, err := axfr(t, start(t, server), "copy.key.", new(dns.Msg).SetAxfr("foo.example."))
	if err != nil {
		t.Fatal(err)
	}
	for want, wanted := range map[string]bool{
		"www.foo.example. 300 IN A 198.18.0.80":                     true,
		"foo.example. 10 IN A 198.18.0.80":                          true,
		"*.shop.foo.example. 300 IN A 198.18.0.80":                  true,
		`*.shop.foo.example. 60 IN HTTPS 1 . alpn="h2"`:             true,
		"www.foo.example. 60 IN SRV 0 0 443 www.foo.example.":       true,
		"www.foo.example. 300 IN MX 10 mail.example.net.":           true,
		"ssh.foo.example. 3600 IN NS ns.foo.example.":               true,
		"www.foo.example. 3600 IN NS ns.foo.example.":               false,
		"*.shop.foo.example. 60 IN SRV 0 0 443 *.shop.foo.example.": false,
	} {
		if slices.Contains(got, want) != wanted {
			t.Errorf("held: %v, %q, in\n%s", !wanted, want, strings.Join(got, "\n"))
		}
	}
	reply := unpacked(t, through(server, packed(t, request("www.foo.example.", dns.TypeAAAA)), UDP))
	if len(reply.Ns) != 1 || reply.Ns[0].Header().Name != "foo.example." {
		t.Errorf("beside secondaries it lacks an AAAA for %v", reply.Ns)
	}
}
