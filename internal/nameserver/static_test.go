package nameserver

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/names/zone"
)

const fooZone = `$TTL 300
@	SOA	ns.foo.example. mail.foo.example. 100 7200 600 86400 120
	NS	ns.example.net.
	NS	ns2
	MX	10 mail
	MX	20 shop
	TXT	"v=spf1 mx -all"
	CAA	0 issue "letsencrypt.org"
ns2	A	198.51.100.53
mail	A	198.51.100.25
	AAAA	2001:db8::25
www	CNAME	shop
far	CNAME	www.example.net.
loop	CNAME	loop
chain	CNAME	www
gone	CNAME	nobody
lab	NS	ns.lab
	NS	ns2.example.net.
	DS	1 8 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
ns.lab	A	198.51.100.54
_dmarc.shop	TXT	"v=DMARC1"
*.dyn	TXT	"dyn"
*.dyn	A	198.51.100.99
deep.dyn	A	198.51.100.98
fixed.wild	A	198.51.100.97
*.wild	MX	5 mail
_sip._tcp	SRV	0 5 5060 mail
My\032Printer._ipp._tcp	TXT	"paper"
hosta	TXT	"a lent name's own text"
closed	A	198.51.100.96
big	TXT	"0123456789"
`

// mixed is a directory beside fooZone.
func mixed() Directory {
	address := netip.MustParseAddr("10.0.0.100")
	web := ports("tcp/80:8080", "tcp/443:8443")
	return testDirectory{
		"foo.example.":          {Address: address, Ports: web},
		"shop.foo.example.":     {Address: address, Ports: web},
		"*.wild.foo.example.":   {Address: address, Ports: web},
		"hosta.foo.example.":    {Address: address, Ports: ports("tcp/22")},
		"closed.foo.example.":   {Address: address},
		"in.deep2.foo.example.": {Address: address, Ports: web},
	}
}

func fooZones(t testing.TB) []Zone {
	t.Helper()
	data, err := zone.Parse(strings.NewReader(fooZone), "foo.example.", "foo.zone")
	if err != nil {
		t.Fatal(err)
	}
	realm := zone.Realm{Lent: mixed().Lent("foo.example."), Nameserver: "ns.foo.example.", Address: netip.MustParseAddr("198.18.0.1")}
	if err := zone.Check(data, "foo.example.", realm); err != nil {
		t.Fatal(err)
	}
	return []Zone{{Name: "foo.example.", Data: data}}
}

const fooSOA = "foo.example. %d IN SOA ns.foo.example. mail.foo.example. 100 7200 600 86400 120"

func TestStaticRecords(t *testing.T) {
	none, pool := fmt.Sprintf(fooSOA, 120), fmt.Sprintf(fooSOA, 0)
	glue := []string{"mail.foo.example. 300 IN A 198.51.100.25", "mail.foo.example. 300 IN AAAA 2001:db8::25"}
	for _, test := range []struct {
		about, name string
		qtype       uint16
		rcode       int
		answer      []string
		authority   []string
		additional  []string
	}{
		{"SOA of the file", "foo.example.", dns.TypeSOA, 0, []string{fmt.Sprintf(fooSOA, 300)}, nil, nil},
		{"NS: this server and the file's", "foo.example.", dns.TypeNS, 0,
			[]string{"foo.example. 300 IN NS ns.foo.example.", "foo.example. 300 IN NS ns.example.net.", "foo.example. 300 IN NS ns2.foo.example."}, nil,
			[]string{"ns.foo.example. 3600 IN A 198.18.0.1", "ns2.foo.example. 300 IN A 198.51.100.53"}},
		{"lent apex", "foo.example.", dns.TypeA, 0, []string{"foo.example. 0 IN A 198.18.0.33"}, nil, nil},
		{"MX; the lent one has no address there", "FOO.example.", dns.TypeMX, 0,
			[]string{"FOO.example. 300 IN MX 10 mail.foo.example.", "FOO.example. 300 IN MX 20 shop.foo.example."}, nil, glue},
		{"TXT of a lent apex", "foo.example.", dns.TypeTXT, 0, []string{`foo.example. 300 IN TXT "v=spf1 mx -all"`}, nil, nil},
		{"CAA", "foo.example.", dns.TypeCAA, 0, []string{`foo.example. 300 IN CAA 0 issue "letsencrypt.org"`}, nil, nil},
		{"AAAA of a lent apex", "foo.example.", dns.TypeAAAA, 0, nil, []string{pool}, nil},
		{"A", "Mail.foo.example.", dns.TypeA, 0, []string{"Mail.foo.example. 300 IN A 198.51.100.25"}, nil, nil},
		{"NODATA", "mail.foo.example.", dns.TypeTXT, 0, nil, []string{none}, nil},
		{"the server's address is the realm's", "ns.foo.example.", dns.TypeA, 0, []string{"ns.foo.example. 3600 IN A 198.18.0.1"}, nil, nil},
		{"CNAME to a lent name", "Www.foo.example.", dns.TypeA, 0,
			[]string{"Www.foo.example. 300 IN CNAME shop.foo.example.", "shop.foo.example. 0 IN A 198.18.0.33"}, nil, nil},
		{"CNAME to a lent name, AAAA", "www.foo.example.", dns.TypeAAAA, 0, []string{"www.foo.example. 300 IN CNAME shop.foo.example."}, []string{pool}, nil},
		{"CNAME itself", "www.foo.example.", dns.TypeCNAME, 0, []string{"www.foo.example. 300 IN CNAME shop.foo.example."}, nil, nil},
		{"two CNAMEs", "chain.foo.example.", dns.TypeA, 0,
			[]string{"chain.foo.example. 300 IN CNAME www.foo.example.", "www.foo.example. 300 IN CNAME shop.foo.example.", "shop.foo.example. 0 IN A 198.18.0.33"}, nil, nil},
		{"CNAME to elsewhere", "far.foo.example.", dns.TypeA, 0, []string{"far.foo.example. 300 IN CNAME www.example.net."}, nil, nil},
		{"CNAME to nothing", "gone.foo.example.", dns.TypeA, dns.RcodeNameError, []string{"gone.foo.example. 300 IN CNAME nobody.foo.example."}, []string{none}, nil},
		{"referral", "a.b.lab.foo.example.", dns.TypeA, 0, nil,
			[]string{"lab.foo.example. 300 IN NS ns.lab.foo.example.", "lab.foo.example. 300 IN NS ns2.example.net."}, []string{"ns.lab.foo.example. 300 IN A 198.51.100.54"}},
		{"referral at the cut", "lab.foo.example.", dns.TypeNS, 0, nil,
			[]string{"lab.foo.example. 300 IN NS ns.lab.foo.example.", "lab.foo.example. 300 IN NS ns2.example.net."}, []string{"ns.lab.foo.example. 300 IN A 198.51.100.54"}},
		{"DS at the cut", "lab.foo.example.", dns.TypeDS, 0,
			[]string{"lab.foo.example. 300 IN DS 1 8 2 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF"}, nil, nil},
		{"glue is not an answer", "ns.lab.foo.example.", dns.TypeA, 0, nil,
			[]string{"lab.foo.example. 300 IN NS ns.lab.foo.example.", "lab.foo.example. 300 IN NS ns2.example.net."}, []string{"ns.lab.foo.example. 300 IN A 198.51.100.54"}},
		{"wildcard", "X.dyn.foo.example.", dns.TypeTXT, 0, []string{`X.dyn.foo.example. 300 IN TXT "dyn"`}, nil, nil},
		{"wildcard over labels", "a.b.dyn.foo.example.", dns.TypeA, 0, []string{"a.b.dyn.foo.example. 300 IN A 198.51.100.99"}, nil, nil},
		{"wildcard of a strange label", `a\.b.dyn.foo.example.`, dns.TypeTXT, 0, []string{`a\.b.dyn.foo.example. 300 IN TXT "dyn"`}, nil, nil},
		{"wildcard, NODATA", "x.dyn.foo.example.", dns.TypeMX, 0, nil, []string{none}, nil},
		{"the wildcard itself", "*.dyn.foo.example.", dns.TypeTXT, 0, []string{`*.dyn.foo.example. 300 IN TXT "dyn"`}, nil, nil},
		{"beside a wildcard", "deep.dyn.foo.example.", dns.TypeTXT, 0, nil, []string{none}, nil},
		{"below a name beside a wildcard", "x.deep.dyn.foo.example.", dns.TypeTXT, dns.RcodeNameError, nil, []string{none}, nil},
		{"empty non-terminal", "_tcp.foo.example.", dns.TypeSRV, 0, nil, []string{none}, nil},
		{"empty non-terminal of the directory", "deep2.foo.example.", dns.TypeA, 0, nil, []string{pool}, nil},
		{"lent wildcard", "x.wild.foo.example.", dns.TypeA, 0, []string{"x.wild.foo.example. 0 IN A 198.18.0.33"}, nil, nil},
		{"the lent wildcard itself", "*.wild.foo.example.", dns.TypeA, 0, []string{"*.wild.foo.example. 0 IN A 198.18.0.33"}, nil, nil},
		{"lent wildcard beside a static one", "x.wild.foo.example.", dns.TypeMX, 0, []string{"x.wild.foo.example. 300 IN MX 5 mail.foo.example."}, nil, glue},
		{"not over what the file has", "fixed.wild.foo.example.", dns.TypeA, 0, []string{"fixed.wild.foo.example. 300 IN A 198.51.100.97"}, nil, nil},
		{"nor below it", "x.fixed.wild.foo.example.", dns.TypeA, dns.RcodeNameError, nil, []string{none}, nil},
		{"SRV", "_sip._tcp.foo.example.", dns.TypeSRV, 0, []string{"_sip._tcp.foo.example. 300 IN SRV 0 5 5060 mail.foo.example."}, nil, glue},
		{"strange label", `my\032printer._ipp._tcp.foo.example.`, dns.TypeTXT, 0, []string{`my\ printer._ipp._tcp.foo.example. 300 IN TXT "paper"`}, nil, nil},
		{"the file's text of a lent name", "hosta.foo.example.", dns.TypeTXT, 0, []string{`hosta.foo.example. 300 IN TXT "a lent name's own text"`}, nil, nil},
		{"below a lent name", "_dmarc.shop.foo.example.", dns.TypeTXT, 0, []string{`_dmarc.shop.foo.example. 300 IN TXT "v=DMARC1"`}, nil, nil},
		{"a closed host's fixed address", "closed.foo.example.", dns.TypeA, 0, []string{"closed.foo.example. 300 IN A 198.51.100.96"}, nil, nil},
		{"NXDOMAIN", "nobody.foo.example.", dns.TypeA, dns.RcodeNameError, nil, []string{none}, nil},
		{"ANY", "mail.foo.example.", dns.TypeANY, 0, []string{`mail.foo.example. 3600 IN HINFO "RFC8482" ""`}, nil, nil},
	} {
		t.Run(test.about, func(t *testing.T) {
			server, allocator := newPublic(t, func(o *PublicOptions) { o.Zones, o.Directory = fooZones(t), mixed })
			wire := through(server, packed(t, request(test.name, test.qtype)), TCP)
			reply := unpacked(t, wire)
			if test.about == "empty non-terminal of the directory" {
				test.authority = []string{none}
			}
			if reply.Rcode != test.rcode || !slices.Equal(texts(reply.Answer), test.answer) || !slices.Equal(texts(reply.Ns), test.authority) || !slices.Equal(texts(reply.Extra), test.additional) {
				t.Errorf("got %v", reply)
			}
			if referral := len(test.answer) == 0 && strings.Contains(fmt.Sprint(test.authority), " NS "); reply.Authoritative == referral || reply.RecursionAvailable {
				t.Errorf("header %v", reply.MsgHdr.String())
			}
			lends := 0
			for _, record := range reply.Answer {
				if record.Header().Rrtype == dns.TypeA && record.Header().Ttl == 0 {
					lends++
				}
			}
			if n := len(allocator.questions()); n != lends {
				t.Errorf("lent for %v", allocator.questions())
			}
		})
	}
}

// What is added to an answer takes no address, and a chain that leads round ends.
func TestChains(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) { o.Zones, o.Directory = fooZones(t), mixed })
	reply := unpacked(t, through(server, packed(t, request("loop.foo.example.", dns.TypeA)), TCP))
	if reply.Rcode != 0 || len(reply.Answer) != maxChain+1 {
		t.Errorf("got %v", reply)
	}
	allocator.err = ErrExhausted
	reply = unpacked(t, through(server, packed(t, request("www.foo.example.", dns.TypeA)), TCP))
	if reply.Rcode != dns.RcodeServerFailure || len(reply.Answer) != 0 {
		t.Errorf("nothing to lend: %v", reply)
	}
	if asked := allocator.questions(); len(asked) != 1 || asked[0].Name != "shop.foo.example." {
		t.Errorf("asked %v", asked)
	}
}

// Inside, the file is the same, but a delegation and a CNAME to elsewhere are
// followed: programs there expect whole answers (RFC 1034 §5.3.1).
func TestStaticInside(t *testing.T) {
	up := upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		reply := new(dns.Msg).SetReply(m)
		reply.Answer = []dns.RR{&dns.A{Hdr: header(m.Question[0].Name, dns.TypeA, 30), A: []byte{192, 0, 2, 80}}}
		_ = w.WriteMsg(reply)
	})
	server := newPrivate(t, func(o *PrivateOptions) {
		o.Zones, o.Directory = fooZones(t), mixed
		o.Upstream = []netip.AddrPort{up}
	})
	for _, test := range []struct {
		name   string
		qtype  uint16
		answer []string
	}{
		{"foo.example.", dns.TypeMX, []string{"foo.example. 300 IN MX 10 mail.foo.example.", "foo.example. 300 IN MX 20 shop.foo.example."}},
		{"www.foo.example.", dns.TypeA, []string{"www.foo.example. 300 IN CNAME shop.foo.example.", "shop.foo.example. 60 IN A 10.0.0.100"}},
		{"closed.foo.example.", dns.TypeA, []string{"closed.foo.example. 60 IN A 10.0.0.100"}},
		{"Far.foo.example.", dns.TypeA, []string{"Far.foo.example. 300 IN CNAME www.example.net.", "www.example.net. 30 IN A 192.0.2.80"}},
		{"A.lab.foo.example.", dns.TypeA, []string{"A.lab.foo.example. 30 IN A 192.0.2.80"}},
	} {
		for range 2 { // the second time from the cache
			reply := unpacked(t, through(server, packed(t, request(test.name, test.qtype)), UDP))
			if !slices.Equal(texts(reply.Answer), test.answer) || reply.Question[0].Name != test.name {
				t.Errorf("%s: %v", test.name, reply)
			}
		}
	}
	alone := newPrivate(t, func(o *PrivateOptions) { o.Zones, o.Directory = fooZones(t), mixed })
	if reply := unpacked(t, through(alone, packed(t, request("far.foo.example.", dns.TypeA)), UDP)); len(reply.Answer) != 1 {
		t.Errorf("without upstream: %v", reply)
	}
	if reply := unpacked(t, through(alone, packed(t, request("a.lab.foo.example.", dns.TypeA)), UDP)); reply.Rcode != dns.RcodeRefused {
		t.Errorf("without upstream: %v", reply)
	}
}
