package nameserver

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// shop has services of several names and ports, a wildcard, the apex, and a
// host that opens nothing.
func shop() Directory {
	address := netip.MustParseAddr("10.0.0.100")
	web := ports("tcp/80:8080", "tcp/443:8443", "udp/443:8443")
	return testDirectory{
		"foo.example.":        {Address: address, Ports: web, Parent: true},
		"shop.foo.example.":   {Address: address, Ports: web},
		"*.shop.foo.example.": {Address: address, Ports: web},
		"closed.foo.example.": {Address: address},
		"ping.foo.example.":   {Address: address, Ports: ports("icmp")},
	}
}

// A host's own name is NODATA outside until something is opened; inside it is
// what it was. Wildcards are for names that do not exist and not for those that
// begin with an underscore.
func TestServicesOfManyPorts(t *testing.T) {
	negative, pool := fmt.Sprintf(soaText, 60), fmt.Sprintf(soaText, 0)
	for _, test := range []struct {
		about, name     string
		qtype           uint16
		rcode           int
		outside, inside string // the one answer
		soa             string // outside, where there is no answer
		lends           model.Name
	}{
		{"several ports", "shop.foo.example.", dns.TypeA, 0, "shop.foo.example. 0 IN A 198.18.0.33", "shop.foo.example. 60 IN A 10.0.0.100", "", "shop.foo.example."},
		{"several ports, SRV", "shop.foo.example.", dns.TypeSRV, 0, "", "", pool, ""},
		{"several ports, TXT", "shop.foo.example.", dns.TypeTXT, 0, "", "", pool, ""},
		{"several ports, HTTPS", "shop.foo.example.", dns.TypeHTTPS, 0, "", "", pool, ""},
		{"several ports, NAPTR", "shop.foo.example.", dns.TypeNAPTR, 0, "", "", pool, ""},
		{"lent apex", "foo.example.", dns.TypeA, 0, "foo.example. 0 IN A 198.18.0.33", "foo.example. 60 IN A 10.0.0.100", "", "foo.example."},
		{"lent apex, AAAA", "foo.example.", dns.TypeAAAA, 0, "", "", pool, ""},
		{"closed", "closed.foo.example.", dns.TypeA, 0, "", "closed.foo.example. 60 IN A 10.0.0.100", pool, ""},
		{"closed, TXT", "closed.foo.example.", dns.TypeTXT, 0, "", "", pool, ""},
		{"ICMP alone", "ping.foo.example.", dns.TypeA, 0, "ping.foo.example. 0 IN A 198.18.0.33", "ping.foo.example. 60 IN A 10.0.0.100", "", "ping.foo.example."},
		{"ICMP has no SRV", "ping.foo.example.", dns.TypeSRV, 0, "", "", pool, ""},
		{"ICMP has no NAPTR", "ping.foo.example.", dns.TypeNAPTR, 0, "", "", pool, ""},
		{"wildcard", "a.b.shop.foo.example.", dns.TypeA, 0, "a.b.shop.foo.example. 0 IN A 198.18.0.33", "a.b.shop.foo.example. 60 IN A 10.0.0.100", "", "a.b.shop.foo.example."},
		{"wildcard, AAAA", "x.shop.foo.example.", dns.TypeAAAA, 0, "", "", pool, ""},
		{"wildcard, ANY", "x.shop.foo.example.", dns.TypeANY, 0, `x.shop.foo.example. 3600 IN HINFO "RFC8482" ""`, `x.shop.foo.example. 3600 IN HINFO "RFC8482" ""`, "", ""},
		{"wildcard, underscore", "_acme-challenge.shop.foo.example.", dns.TypeA, dns.RcodeNameError, "", "", negative, ""},
		{"below a closed name", "x.closed.foo.example.", dns.TypeA, dns.RcodeNameError, "", "", negative, ""},
	} {
		t.Run(test.about, func(t *testing.T) {
			server, allocator := newPublic(t, func(o *PublicOptions) { o.Directory = shop })
			message := packed(t, request(test.name, test.qtype))
			one := func(text string) []string {
				if text == "" {
					return nil
				}
				return []string{text}
			}
			reply := unpacked(t, through(server, message, TCP))
			if reply.Rcode != test.rcode || !slices.Equal(texts(reply.Answer), one(test.outside)) || !slices.Equal(texts(reply.Ns), one(test.soa)) {
				t.Errorf("outside: %v", reply)
			}
			var lends []string
			for _, question := range allocator.questions() {
				lends = append(lends, string(question.Name))
			}
			if !slices.Equal(lends, one(string(test.lends))) {
				t.Errorf("lent for %v", lends)
			}
			private := newPrivate(t, func(o *PrivateOptions) { o.Directory = shop })
			reply = unpacked(t, through(private, message, UDP))
			if reply.Rcode != test.rcode || !slices.Equal(texts(reply.Answer), one(test.inside)) {
				t.Errorf("inside: %v", reply)
			}
		})
	}
}

func TestHTTPSRecords(t *testing.T) {
	address := netip.MustParseAddr("10.0.0.100")
	directory := func() Directory {
		return testDirectory{
			"web.foo.example.":   {Address: address, Ports: ports("tcp/8443:443", "udp/8443:443"), HTTPS: &HTTPS{8443, []string{"h2", "h3"}}},
			"std.foo.example.":   {Address: address, Ports: ports("tcp/443:8443"), HTTPS: &HTTPS{443, []string{"h2"}}},
			"plain.foo.example.": {Address: address, Ports: ports("tcp/8443"), HTTPS: &HTTPS{Port: 8443}},
			"all.foo.example.":   {Address: address, Ports: everything, HTTPS: &HTTPS{Port: 8443}},
			"*.w.foo.example.":   {Address: address, Ports: ports("tcp/8443"), HTTPS: &HTTPS{Port: 8443}},
			"none.foo.example.":  {Address: address, Ports: ports("tcp/8443")},
		}
	}
	for name, want := range map[string][2]string{
		"web.foo.example.":   {`1 . alpn="h2,h3" port="8443"`, `1 . alpn="h2,h3"`},
		"std.foo.example.":   {`1 . alpn="h2"`, `1 . alpn="h2" port="8443"`},
		"plain.foo.example.": {`1 . port="8443"`, `1 . port="8443"`},
		"all.foo.example.":   {`1 . port="8443"`, `1 . port="8443"`},
		"x.w.foo.example.":   {`1 . port="8443"`, `1 . port="8443"`},
		"none.foo.example.":  {"", ""},
	} {
		outside, allocator := newPublic(t, func(o *PublicOptions) { o.Directory = directory })
		inside := newPrivate(t, func(o *PrivateOptions) { o.Directory = directory })
		for i, server := range []responder{outside, inside} {
			reply := unpacked(t, through(server, packed(t, request(name, dns.TypeHTTPS)), TCP))
			var lines []string
			if want[i] != "" {
				lines = []string{name + " 60 IN HTTPS " + want[i]}
			}
			if !slices.Equal(texts(reply.Answer), lines) || len(reply.Extra) != 0 {
				t.Errorf("%s: %v", name, reply)
			}
		}
		if asked := allocator.questions(); len(asked) != 0 {
			t.Errorf("lent for %v", asked)
		}
	}
}

// Only A questions take addresses, whatever there is at the name.
func TestOnlyAddressQuestionsLend(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) { o.Directory = shop; o.Verify = VerifyNone })
	for qtype := range uint16(300) {
		if qtype == dns.TypeA {
			continue
		}
		for _, name := range []string{"foo.example.", "shop.foo.example.", "x.shop.foo.example.", "closed.foo.example."} {
			for _, transport := range []Transport{UDP, TCP} {
				through(server, packed(t, request(name, qtype)), transport)
			}
		}
	}
	if asked := allocator.questions(); len(asked) != 0 {
		t.Errorf("lent for %v", asked)
	}
}

// A minimising asker's alias fits a wildcard of the zone, but is what it was made for.
func TestAliasComesBeforeWildcards(t *testing.T) {
	address := netip.MustParseAddr("10.0.0.100")
	server, allocator := newPublic(t, func(o *PublicOptions) {
		o.Now = func() model.Instant { return 0 }
		o.Directory = func() Directory {
			return testDirectory{
				"*.foo.example.":         {Address: address, Ports: everything},
				testHost:                 {Address: address, Ports: everything, Parent: true},
				"www.hosta.foo.example.": {Address: address, Ports: ports("tcp/80")},
			}
		}
	})
	proven(t, server)
	before := len(allocator.questions())
	alias := aliasOf(t, server, string(testHost))
	through(server, packed(t, request(alias, dns.TypeA)), TCP)
	if asked := allocator.questions()[before:]; len(asked) != 1 || asked[0].Name != testHost {
		t.Errorf("lent for %v", asked)
	}
}
