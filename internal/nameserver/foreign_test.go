package nameserver

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/rebind"
	"github.com/realmgate/realmgate/internal/names/zone"
)

// foreign answers each name with its records, of which some begin with a section:
// "authority" or "additional"; a name without any is NXDOMAIN.
func foreign(t *testing.T, answers map[string][]string) netip.AddrPort {
	return upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		reply := new(dns.Msg).SetReply(m)
		records, ok := answers[strings.ToLower(m.Question[0].Name)]
		if !ok {
			reply.Rcode = dns.RcodeNameError
		}
		for _, text := range records {
			section := &reply.Answer
			if rest, ok := strings.CutPrefix(text, "authority "); ok {
				text, section = rest, &reply.Ns
			} else if rest, ok := strings.CutPrefix(text, "additional "); ok {
				text, section = rest, &reply.Extra
			}
			if text == "NXDOMAIN" {
				reply.Rcode = dns.RcodeNameError
				continue
			}
			rr, err := dns.NewRR(text)
			if err != nil {
				t.Error(err)
				return
			}
			*section = append(*section, rr)
		}
		reply.AuthenticatedData = true
		_ = w.WriteMsg(reply)
	})
}

// zoneOfForeign has aliases that lead out, and a zone below it that others serve.
const zoneOfForeign = `
out    IN CNAME www.example.net.
circle IN CNAME circle.evil.test.
again  IN CNAME into.evil.test.
lab    IN NS ns.lab.foo.example.
ns.lab IN A 192.0.2.53
`

func parsedZone(t *testing.T, name, text string) *zone.Zone {
	t.Helper()
	parsed, err := zone.Parse(strings.NewReader(text), model.Name(name), name)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestForeignAnswers(t *testing.T) {
	answers := map[string][]string{
		// field-attacks.md A8.
		"rebind.evil.test.": {"rebind.evil.test. 300 IN A 10.0.1.10"},
		"loop.evil.test.":   {"loop.evil.test. 300 IN A 127.0.0.1", "loop.evil.test. 300 IN AAAA ::1"},
		"own.evil.test.":    {"own.evil.test. 300 IN A 198.18.0.1"},
		"cname.evil.test.":  {"cname.evil.test. 300 IN CNAME hostA.foo.example.", "hosta.foo.example. 300 IN A 6.6.6.6"},
		// More of the same.
		"mixed.evil.test.":   {"mixed.evil.test. 300 IN A 10.0.1.10", "mixed.evil.test. 300 IN A 192.0.2.80"},
		"hint.evil.test.":    {"hint.evil.test. 300 IN HTTPS 1 . ipv4hint=10.0.1.10"},
		"mail.evil.test.":    {"mail.evil.test. 300 IN MX 1 in.evil.test.", "additional in.evil.test. 300 IN A 10.0.1.10"},
		"steal.evil.test.":   {"hosta.foo.example. 300 IN A 6.6.6.6"},
		"extra.evil.test.":   {"extra.evil.test. 300 IN A 192.0.2.80", "authority foo.example. 300 IN NS evil.test.", "additional ns.foo.example. 300 IN A 6.6.6.6"},
		"far.evil.test.":     {"far.evil.test. 300 IN CNAME b.evil.test.", "b.evil.test. 300 IN CNAME www.hosta.foo.example.", "NXDOMAIN"},
		"nobody.evil.test.":  {"nobody.evil.test. 300 IN CNAME nobody.foo.example.", "nobody.foo.example. 300 IN A 6.6.6.6"},
		"into.evil.test.":    {"into.evil.test. 300 IN CNAME out.foo.example.", "out.foo.example. 300 IN A 6.6.6.6"},
		"www.example.net.":   {"www.example.net. 300 IN A 192.0.2.80"},
		"circle.evil.test.":  {"circle.evil.test. 300 IN CNAME circle.foo.example."},
		"lan.good.test.":     {"lan.good.test. 300 IN A 10.0.1.10"},
		"lend.evil.test.":    {"lend.evil.test. 300 IN CNAME lan.good.test.", "lan.good.test. 300 IN A 10.0.1.10"},
		"a.lab.foo.example.": {"a.lab.foo.example. 300 IN A 10.0.1.10"},
	}
	server := newPrivate(t, func(o *PrivateOptions) {
		o.Zones = []Zone{{Name: "foo.example.", Data: parsedZone(t, "foo.example.", zoneOfForeign)}}
		o.Upstream = []netip.AddrPort{foreign(t, answers)}
		o.Rebind = rebind.New([]model.Name{"good.test."}, func(a netip.Addr) bool { return a == netip.MustParseAddr("198.18.0.1") })
	})
	for _, test := range []struct {
		name    string
		qtype   uint16
		want    []string // of all sections but the SOA of ours
		rcode   int
		blocked bool
	}{
		{"rebind.evil.test.", dns.TypeA, nil, 0, true},
		{"loop.evil.test.", dns.TypeA, nil, 0, true},
		{"own.evil.test.", dns.TypeA, nil, 0, true},
		{"cname.evil.test.", dns.TypeA, []string{"cname.evil.test. 300 IN CNAME hostA.foo.example.", "hostA.foo.example. 60 IN A 10.0.0.100"}, 0, false},
		{"cname.evil.test.", dns.TypeCNAME, []string{"cname.evil.test. 300 IN CNAME hostA.foo.example."}, 0, false},
		{"cname.evil.test.", dns.TypeAAAA, []string{"cname.evil.test. 300 IN CNAME hostA.foo.example."}, 0, false},
		{"mixed.evil.test.", dns.TypeA, []string{"mixed.evil.test. 300 IN A 192.0.2.80"}, 0, true},
		{"hint.evil.test.", dns.TypeHTTPS, nil, 0, true},
		{"mail.evil.test.", dns.TypeMX, []string{"mail.evil.test. 300 IN MX 1 in.evil.test."}, 0, true},
		{"steal.evil.test.", dns.TypeA, nil, 0, false},
		{"extra.evil.test.", dns.TypeA, []string{"extra.evil.test. 300 IN A 192.0.2.80"}, 0, false},
		{"far.evil.test.", dns.TypeA, []string{"far.evil.test. 300 IN CNAME b.evil.test.", "b.evil.test. 300 IN CNAME www.hosta.foo.example.", "www.hosta.foo.example. 60 IN A 10.0.0.100"}, 0, false},
		{"nobody.evil.test.", dns.TypeA, []string{"nobody.evil.test. 300 IN CNAME nobody.foo.example."}, dns.RcodeNameError, false},
		{"into.evil.test.", dns.TypeA, []string{"into.evil.test. 300 IN CNAME out.foo.example.", "out.foo.example. 3600 IN CNAME www.example.net.", "www.example.net. 300 IN A 192.0.2.80"}, 0, false},
		{"again.foo.example.", dns.TypeA, []string{
			"again.foo.example. 3600 IN CNAME into.evil.test.", "into.evil.test. 300 IN CNAME out.foo.example.",
			"out.foo.example. 3600 IN CNAME www.example.net.", "www.example.net. 300 IN A 192.0.2.80",
		}, 0, false},
		{"circle.foo.example.", dns.TypeA, nil, dns.RcodeServerFailure, false},
		{"lan.good.test.", dns.TypeA, []string{"lan.good.test. 300 IN A 10.0.1.10"}, 0, false},
		{"lend.evil.test.", dns.TypeA, []string{"lend.evil.test. 300 IN CNAME lan.good.test."}, 0, true},
		{"a.lab.foo.example.", dns.TypeA, []string{"a.lab.foo.example. 300 IN A 10.0.1.10"}, 0, false},
		{"unknown.evil.test.", dns.TypeA, nil, dns.RcodeNameError, false},
	} {
		for _, round := range []string{"asked", "perhaps known"} {
			m := request(test.name, test.qtype).SetEdns0(1232, false)
			m.AuthenticatedData = true
			reply := unpacked(t, through(server, packed(t, m), UDP))
			opt := reply.IsEdns0()
			var got []string
			for _, rr := range slices.Concat(reply.Answer, reply.Ns, reply.Extra) {
				if t := rr.Header().Rrtype; t != dns.TypeOPT && t != dns.TypeSOA {
					got = append(got, texts([]dns.RR{rr})...)
				}
			}
			if !slices.Equal(got, test.want) || reply.Rcode != test.rcode || !reply.RecursionAvailable {
				t.Errorf("%s %s, %s: got %v", test.name, dns.Type(test.qtype), round, reply)
			}
			blocked := slices.ContainsFunc(opt.Option, func(o dns.EDNS0) bool {
				ede, ok := o.(*dns.EDNS0_EDE)
				return ok && ede.InfoCode == dns.ExtendedErrorCodeBlocked
			})
			if blocked != test.blocked || reply.AuthenticatedData && blocked {
				t.Errorf("%s, %s: blocked %v in %v", test.name, round, blocked, reply)
			}
		}
	}
	if s := server.Statistics(); s.RebindBlocked == 0 || s.OwnRemoved == 0 {
		t.Errorf("counters %+v", s)
	}
}

// What is taken out of answers may change; then those that are kept are asked again.
func TestForeignAnswersAfterReload(t *testing.T) {
	upstream := foreign(t, map[string][]string{
		"a.evil.test.": {"a.evil.test. 300 IN A 10.0.1.10", "a.evil.test. 300 IN A 192.0.2.80"},
		"b.evil.test.": {"b.evil.test. 300 IN CNAME www.new.example.", "www.new.example. 300 IN A 6.6.6.6"},
	})
	options := PrivateOptions{
		Zones: testZones, Nameserver: "ns.foo.example.", NameserverAddress: netip.MustParseAddr("10.0.0.1"),
		Serial: 7, Directory: realm, Upstream: []netip.AddrPort{upstream}, CacheSize: 10,
	}
	server, err := NewPrivate(options)
	if err != nil {
		t.Fatal(err)
	}
	want := func(about string, a, b int) {
		t.Helper()
		for name, n := range map[string]int{"a.evil.test.": a, "b.evil.test.": b} {
			if reply := unpacked(t, through(server, packed(t, request(name, dns.TypeA)), UDP)); len(reply.Answer) != n {
				t.Errorf("%s: %v", about, reply)
			}
		}
	}
	change := func(change func()) {
		t.Helper()
		change()
		if err := server.Reconfigure(options); err != nil {
			t.Fatal(err)
		}
	}
	want("no filter", 2, 2)
	change(func() { options.Rebind = rebind.New(nil, nil) })
	want("a filter", 1, 2)
	change(func() { options.Rebind = rebind.New([]model.Name{"evil.test."}, nil) })
	want("a name allowed", 2, 2)
	change(func() { options.Zones = append(newZones("new.example."), testZones...) })
	want("a zone of ours", 2, 1)
	asked := server.Statistics().UpstreamQueries
	change(func() { options.Rebind = rebind.New([]model.Name{"evil.test."}, nil) })
	want("the same again", 2, 1)
	if n := server.Statistics().UpstreamQueries; n != asked {
		t.Errorf("%d questions went upstream for answers that are known", n-asked)
	}
}

// Who is not inside gets nothing over UDP, and REFUSED over TCP, of names of ours, too.
func TestPrivateServesItsOwnNetworks(t *testing.T) {
	inside := netip.MustParsePrefix("10.0.0.0/24")
	server := newPrivate(t, func(o *PrivateOptions) { o.Serves = inside.Contains })
	for _, name := range []string{"hosta.foo.example.", "www.example.net."} {
		query := packed(t, request(name, dns.TypeA).SetEdns0(1232, false))
		if reply := throughFrom(server, query, UDP, netip.MustParseAddrPort("203.0.113.77:53")); reply != nil {
			t.Errorf("%s over UDP: %x", name, reply)
		}
		reply := unpacked(t, throughFrom(server, query, TCP, netip.MustParseAddrPort("203.0.113.77:53")))
		if reply.Rcode != dns.RcodeRefused || len(reply.Answer) > 0 || len(reply.IsEdns0().Option) != 1 {
			t.Errorf("%s over TCP: %v", name, reply)
		}
	}
	reply := unpacked(t, throughFrom(server, packed(t, request("hosta.foo.example.", dns.TypeA)), UDP, netip.MustParseAddrPort("10.0.0.100:53")))
	if len(reply.Answer) != 1 {
		t.Errorf("inside: %v", reply)
	}
	if s := server.Statistics(); s.NotInside != 4 {
		t.Errorf("counters %+v", s)
	}
}
