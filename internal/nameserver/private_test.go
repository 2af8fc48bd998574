package nameserver

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/miekg/dns"
)

const reverseSOA = "10.in-addr.arpa. 60 IN SOA ns.foo.example. hostmaster.10.in-addr.arpa. 7 3600 600 86400 60"

func TestPrivateAnswers(t *testing.T) {
	negative := fmt.Sprintf(soaText, 60)
	for _, test := range []struct {
		about, name string
		qtype       uint16
		rcode       int
		answer      []string
		authority   []string
	}{
		{"host name", "hostA.foo.example.", dns.TypeA, 0, []string{"hostA.foo.example. 60 IN A 10.0.0.100"}, nil},
		{"service name", "www.hosta.foo.example.", dns.TypeA, 0, []string{"www.hosta.foo.example. 60 IN A 10.0.0.100"}, nil},
		{"SRV has the port inside", "www.hosta.foo.example.", dns.TypeSRV, 0,
			[]string{"www.hosta.foo.example. 60 IN SRV 0 0 8080 www.hosta.foo.example."}, nil},
		{"TXT has the port inside", "www.hosta.foo.example.", dns.TypeTXT, 0,
			[]string{`www.hosta.foo.example. 60 IN TXT "protocol=tcp port=8080"`}, nil},
		{"NAPTR", "www.hosta.foo.example.", dns.TypeNAPTR, 0,
			[]string{`www.hosta.foo.example. 60 IN NAPTR 100 10 "S" "x-www:x-tcp" "" www.hosta.foo.example.`}, nil},
		{"AAAA", "hosta.foo.example.", dns.TypeAAAA, 0, nil, []string{negative}},
		{"unknown", "nobody.foo.example.", dns.TypeA, dns.RcodeNameError, nil, []string{negative}},
		{"SOA", "foo.example.", dns.TypeSOA, 0, []string{fmt.Sprintf(soaText, 3600)}, nil},
		{"NS", "foo.example.", dns.TypeNS, 0, []string{"foo.example. 3600 IN NS ns.foo.example."}, nil},
		{"the name server", "ns.foo.example.", dns.TypeA, 0, []string{"ns.foo.example. 3600 IN A 10.0.0.1"}, nil},
		{"PTR of a host", "100.0.0.10.in-addr.arpa.", dns.TypePTR, 0, []string{"100.0.0.10.in-addr.arpa. 60 IN PTR hosta.foo.example."}, nil},
		{"PTR in capitals", "100.0.0.10.IN-ADDR.ARPA.", dns.TypePTR, 0, []string{"100.0.0.10.IN-ADDR.ARPA. 60 IN PTR hosta.foo.example."}, nil},
		{"other type of a host's address", "100.0.0.10.in-addr.arpa.", dns.TypeTXT, 0, nil, []string{reverseSOA}},
		{"PTR of an unused private address", "99.0.0.10.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError, nil, []string{reverseSOA}},
		{"above the addresses", "0.10.in-addr.arpa.", dns.TypePTR, 0, nil, []string{reverseSOA}},
		{"172.16/12", "1.2.31.172.in-addr.arpa.", dns.TypePTR, dns.RcodeNameError, nil,
			[]string{"31.172.in-addr.arpa. 60 IN SOA ns.foo.example. hostmaster.31.172.in-addr.arpa. 7 3600 600 86400 60"}},
		{"host with an address of the Internet", "9.100.51.198.in-addr.arpa.", dns.TypePTR, 0,
			[]string{"9.100.51.198.in-addr.arpa. 60 IN PTR inner.foo.example."}, nil},
		{"no upstream", "www.example.net.", dns.TypeA, dns.RcodeRefused, nil, nil},
		{"reverse of the Internet", "1.2.32.172.in-addr.arpa.", dns.TypePTR, dns.RcodeRefused, nil, nil},
		{"above 172.16/12", "172.in-addr.arpa.", dns.TypePTR, dns.RcodeRefused, nil, nil},
		{"not an address", "100.0.0.010.in-addr.arpa.", dns.TypePTR, dns.RcodeRefused, nil, nil},
		{"five octets", "1.100.0.0.10.in-addr.arpa.", dns.TypePTR, dns.RcodeRefused, nil, nil},
		{"AXFR", "foo.example.", dns.TypeAXFR, dns.RcodeRefused, nil, nil},
	} {
		t.Run(test.about, func(t *testing.T) {
			server := newPrivate(t, nil)
			for _, transport := range []Transport{UDP, TCP} {
				reply := unpacked(t, through(server, packed(t, request(test.name, test.qtype)), transport))
				if reply.Rcode != test.rcode || !slices.Equal(texts(reply.Answer), test.answer) || !slices.Equal(texts(reply.Ns), test.authority) {
					t.Errorf("%s: got %v", transport, reply)
				}
				if reply.Truncated || reply.RecursionAvailable {
					t.Errorf("%s: header %v", transport, reply.MsgHdr.String())
				}
			}
		})
	}
}

func TestPrivateAsksUpstreamOnlyWhenAskedTo(t *testing.T) {
	server := newPrivate(t, func(o *PrivateOptions) { o.Upstream = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")} })
	m := request("www.example.net.", dns.TypeA)
	m.RecursionDesired = false
	if reply := unpacked(t, through(server, packed(t, m), UDP)); reply.Rcode != dns.RcodeRefused {
		t.Errorf("without RD: %v", reply)
	}
	own := unpacked(t, through(server, packed(t, request("hosta.foo.example.", dns.TypeA)), UDP))
	if !own.RecursionAvailable || !own.Authoritative {
		t.Errorf("header %v", own.MsgHdr.String())
	}
	if s := server.Statistics(); s.UpstreamQueries != 0 {
		t.Errorf("counters %+v", s)
	}
}
