package nameserver

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/miekg/dns"
)

const soaText = "foo.example. %d IN SOA ns.foo.example. hostmaster.foo.example. 7 3600 600 86400 60"

func TestPublicAnswers(t *testing.T) {
	negative, pool := fmt.Sprintf(soaText, 60), fmt.Sprintf(soaText, 0)
	for _, test := range []struct {
		about, name string
		qtype       uint16
		rcode       int
		answer      []string
		authority   []string
	}{
		{"host name", "hosta.foo.example.", dns.TypeA, 0, []string{"hosta.foo.example. 0 IN A 198.18.0.33"}, nil},
		{"service name", "www.hosta.foo.example.", dns.TypeA, 0, []string{"www.hosta.foo.example. 0 IN A 198.18.0.33"}, nil},
		{"0x20 case is kept", "wWw.HostA.fOO.exAmple.", dns.TypeA, 0, []string{"wWw.HostA.fOO.exAmple. 0 IN A 198.18.0.33"}, nil},
		{"AAAA of a pool name", "hosta.foo.example.", dns.TypeAAAA, 0, nil, []string{pool}},
		{"HTTPS of a pool name", "www.hosta.foo.example.", dns.TypeHTTPS, 0, nil, []string{pool}},
		{"TXT of a service", "www.hosta.foo.example.", dns.TypeTXT, 0, []string{`www.hosta.foo.example. 60 IN TXT "protocol=tcp port=80"`}, nil},
		{"TXT of a host", "hosta.foo.example.", dns.TypeTXT, 0, nil, []string{pool}},
		{"SRV of a service", "dns.deep.a.foo.example.", dns.TypeSRV, 0, []string{"dns.deep.a.foo.example. 60 IN SRV 0 0 53 dns.deep.a.foo.example."}, nil},
		{"NAPTR of a service leads to its SRV", "wWw.hosta.foo.example.", dns.TypeNAPTR, 0,
			[]string{`wWw.hosta.foo.example. 60 IN NAPTR 100 10 "S" "x-wWw:x-tcp" "" wWw.hosta.foo.example.`}, nil},
		{"NAPTR of a host", "hosta.foo.example.", dns.TypeNAPTR, 0, nil, []string{pool}},
		{"SRV of a host", "hosta.foo.example.", dns.TypeSRV, 0, nil, []string{pool}},
		{"SOA", "foo.example.", dns.TypeSOA, 0, []string{fmt.Sprintf(soaText, 3600)}, nil},
		{"NS", "foo.example.", dns.TypeNS, 0, []string{"foo.example. 3600 IN NS ns.foo.example."}, nil},
		{"apex without the type", "foo.example.", dns.TypeA, 0, nil, []string{negative}},
		{"SOA below the apex", "hosta.foo.example.", dns.TypeSOA, 0, nil, []string{pool}},
		{"the name server", "ns.foo.example.", dns.TypeA, 0, []string{"ns.foo.example. 3600 IN A 198.18.0.1"}, nil},
		{"the name server, other type", "ns.foo.example.", dns.TypeAAAA, 0, nil, []string{negative}},
		{"unknown name", "nobody.foo.example.", dns.TypeA, dns.RcodeNameError, nil, []string{negative}},
		{"below a host", "x.y.hosta.foo.example.", dns.TypeA, dns.RcodeNameError, nil, []string{negative}},
		{"empty non-terminal", "deep.a.foo.example.", dns.TypeA, 0, nil, []string{negative}},
		{"strange characters", `wei\000rd.foo.example.`, dns.TypeA, dns.RcodeNameError, nil, []string{negative}},
		{"escaped dot is not a label's end", `www\.hosta.foo.example.`, dns.TypeA, dns.RcodeNameError, nil, []string{negative}},
		{"ANY", "hosta.foo.example.", dns.TypeANY, 0, []string{`hosta.foo.example. 3600 IN HINFO "RFC8482" ""`}, nil},
		{"ANY of an unknown name", "nobody.foo.example.", dns.TypeANY, dns.RcodeNameError, nil, []string{negative}},
		{"zone in a zone", "child.foo.example.", dns.TypeSOA, 0,
			[]string{"child.foo.example. 3600 IN SOA ns.foo.example. hostmaster.child.foo.example. 7 3600 600 86400 60"}, nil},
		{"DS is the parent's", "child.foo.example.", dns.TypeDS, 0, nil, []string{negative}},
		{"DS of the upper zone", "foo.example.", dns.TypeDS, 0, nil, []string{negative}},
		{"out of zone", "www.example.net.", dns.TypeA, dns.RcodeRefused, nil, nil},
		{"names compare by label", "evilfoo.example.", dns.TypeA, dns.RcodeRefused, nil, nil},
		{"a dot within a label", `evil\.foo.example.`, dns.TypeA, dns.RcodeRefused, nil, nil},
		{"a zone's octets within a label", `x\003foo\007example.`, dns.TypeA, dns.RcodeRefused, nil, nil},
		{"the parent", "example.", dns.TypeSOA, dns.RcodeRefused, nil, nil},
		{"root", ".", dns.TypeNS, dns.RcodeRefused, nil, nil},
		{"AXFR", "foo.example.", dns.TypeAXFR, dns.RcodeRefused, nil, nil},
		{"TKEY", "foo.example.", dns.TypeTKEY, dns.RcodeRefused, nil, nil},
	} {
		t.Run(test.about, func(t *testing.T) {
			server, _ := newPublic(t, nil)
			query := request(test.name, test.qtype)
			reply := unpacked(t, through(server, packed(t, query), TCP))
			if reply.Rcode != test.rcode || !slices.Equal(texts(reply.Answer), test.answer) || !slices.Equal(texts(reply.Ns), test.authority) {
				t.Errorf("got %v", reply)
			}
			if authoritative := test.rcode != dns.RcodeRefused; reply.Authoritative != authoritative {
				t.Errorf("AA is %v", reply.Authoritative)
			}
			if reply.RecursionAvailable || reply.Truncated || !reply.RecursionDesired || reply.Id != query.Id {
				t.Errorf("header: %v", reply.MsgHdr.String())
			}
			if reply.Question[0] != query.Question[0] {
				t.Errorf("question %v came back as %v", query.Question[0], reply.Question[0])
			}
		})
	}
}

func TestNSCarriesTheServersAddress(t *testing.T) {
	server, _ := newPublic(t, nil)
	reply := unpacked(t, through(server, packed(t, request("foo.example.", dns.TypeNS)), TCP))
	if got := texts(reply.Extra); !slices.Equal(got, []string{"ns.foo.example. 3600 IN A 198.18.0.1"}) {
		t.Errorf("additional section: %v", got)
	}
	outside, _ := newPublic(t, func(o *PublicOptions) { o.Nameserver = "ns.example.net." })
	reply = unpacked(t, through(outside, packed(t, request("foo.example.", dns.TypeNS)), TCP))
	if len(reply.Extra) != 0 {
		t.Errorf("an address for a name server outside the zones: %v", texts(reply.Extra))
	}
}

func TestPublicRejects(t *testing.T) {
	question := func(change func(*dns.Msg)) []byte {
		m := request("hosta.foo.example.", dns.TypeA)
		change(m)
		return packed(t, m)
	}
	whole := question(func(*dns.Msg) {})
	for _, test := range []struct {
		about   string
		message []byte
		rcode   int // -1: silence
	}{
		{"nothing", nil, -1},
		{"half a header", whole[:11], -1},
		{"a response", question(func(m *dns.Msg) { m.Response = true }), -1},
		{"header alone", whole[:12], dns.RcodeFormatError},
		{"name cut off", whole[:20], dns.RcodeFormatError},
		{"class cut off", whole[:len(whole)-1], dns.RcodeFormatError},
		{"octets after the end", append(slices.Clone(whole), 0), dns.RcodeFormatError},
		{"no question", question(func(m *dns.Msg) { m.Question = nil }), dns.RcodeFormatError},
		{"two questions", question(func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }), dns.RcodeFormatError},
		{"compressed question", append(slices.Clone(whole[:12]), 0xC0, 0x0C, 0, 1, 0, 1), dns.RcodeFormatError},
		{"label of 64 octets", slices.Concat(whole[:12], []byte{64}, make([]byte, 64), []byte{0, 0, 1, 0, 1}), dns.RcodeFormatError},
		{"name of 256 octets", slices.Concat(whole[:12], bytes.Repeat(append([]byte{50}, make([]byte, 50)...), 5), []byte{0, 0, 1, 0, 1}), dns.RcodeFormatError},
		{"an answer in a query", question(func(m *dns.Msg) { m.Answer = []dns.RR{addressRecord(".", 0, lent)} }), dns.RcodeFormatError},
		{"OPT as a type", question(func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeOPT }), dns.RcodeFormatError},
		{"two OPT records", question(func(m *dns.Msg) { m.SetEdns0(1232, false).SetEdns0(1232, false) }), dns.RcodeFormatError},
		{"OPT with an owner", question(func(m *dns.Msg) { m.SetEdns0(1232, false).Extra[0].Header().Name = "a." }), dns.RcodeFormatError},
		{"EDNS version 1", question(func(m *dns.Msg) { m.SetEdns0(1232, false).IsEdns0().SetVersion(1) }), dns.RcodeBadVers},
		{"class CH", question(func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }), dns.RcodeRefused},
		{"class ANY", question(func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassANY }), dns.RcodeRefused},
		{"IXFR", packed(t, new(dns.Msg).SetIxfr("foo.example.", 1, "ns.foo.example.", "a.foo.example.")), dns.RcodeRefused},
		{"update", packed(t, new(dns.Msg).SetUpdate("foo.example.")), dns.RcodeNotImplemented},
		{"notify", packed(t, new(dns.Msg).SetNotify("foo.example.")), dns.RcodeNotImplemented},
		{"status", question(func(m *dns.Msg) { m.Opcode = dns.OpcodeStatus }), dns.RcodeNotImplemented},
	} {
		t.Run(test.about, func(t *testing.T) {
			for _, transport := range []Transport{UDP, TCP} {
				server, allocator := newPublic(t, func(o *PublicOptions) { o.Verify = VerifyNone })
				reply := through(server, test.message, transport)
				if test.rcode < 0 {
					if reply != nil {
						t.Errorf("%s: not silent: %x", transport, reply)
					}
					continue
				}
				if got := unpacked(t, reply); got.Rcode != test.rcode || got.Opcode != int(test.message[2]>>3&0xF) {
					t.Errorf("%s: %v", transport, got)
				}
				if len(reply) > len(test.message) {
					t.Errorf("%s: reply of %d octets to %d", transport, len(reply), len(test.message))
				}
				if len(allocator.questions()) != 0 {
					t.Errorf("%s: allocated %v", transport, allocator.questions())
				}
			}
		})
	}
}

func TestAllocationErrors(t *testing.T) {
	for _, test := range []struct {
		err       error
		transport Transport
		rcode     int
		truncated bool
	}{
		{ErrExhausted, UDP, 0, true},
		{ErrExhausted, TCP, dns.RcodeServerFailure, false},
		{ErrRefused, UDP, dns.RcodeRefused, false},
		{ErrRefused, TCP, dns.RcodeRefused, false},
		{ErrFailed, UDP, dns.RcodeServerFailure, false},
		{ErrFailed, TCP, dns.RcodeServerFailure, false},
		{errors.New("something else"), TCP, dns.RcodeServerFailure, false},
	} {
		t.Run(fmt.Sprint(test.err, " ", test.transport), func(t *testing.T) {
			server, allocator := newPublic(t, func(o *PublicOptions) { o.Verify = VerifyNone })
			allocator.err = fmt.Errorf("lend an address to %s: %w", "hosta", test.err)
			query := packed(t, request("hosta.foo.example.", dns.TypeA))
			wire := through(server, query, test.transport)
			reply := unpacked(t, wire)
			if reply.Rcode != test.rcode || reply.Truncated != test.truncated || len(reply.Answer) != 0 {
				t.Errorf("got %v", reply)
			}
			if len(wire) > len(query) {
				t.Errorf("%d octets for %d", len(wire), len(query))
			}
			if s := server.Statistics(); s.Exhausted+s.Limited+s.Failed != 1 || s.Allocated != 0 {
				t.Errorf("counters %+v", s)
			}
		})
	}
}

func TestQueryIDs(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) { o.Verify = VerifyNone })
	query := request("hosta.foo.example.", dns.TypeA)
	other := query.Copy()
	other.Id++
	for _, m := range []*dns.Msg{query, query, other} {
		through(server, packed(t, m), UDP)
	}
	through(server, packed(t, query), TCP)
	through(server, packed(t, query), TCP)
	q := allocator.questions()
	if q[0].ID != q[1].ID {
		t.Error("a query sent again over UDP counts as another")
	}
	if q[0].ID == q[2].ID || q[0].ID == q[3].ID || q[3].ID == q[4].ID {
		t.Errorf("distinct queries share an ID: %v", q)
	}
	want := Question{Name: "hosta.foo.example.", Client: asker, Transport: UDP, ID: q[0].ID}
	if q[0] != want || !q[3].Verified {
		t.Errorf("asked the allocator %+v", q[0])
	}
}

func TestReconfigureKeepsTheOldOnError(t *testing.T) {
	server, allocator := newPublic(t, nil)
	bad := publicOptions(allocator)
	bad.Zones = newZones("Foo.Example")
	if err := server.Reconfigure(bad); err == nil {
		t.Error("a zone that is not canonical was accepted")
	}
	good := publicOptions(allocator)
	good.Zones = newZones("bar.example.")
	query := packed(t, request("foo.example.", dns.TypeSOA))
	if got := unpacked(t, through(server, query, TCP)); got.Rcode != dns.RcodeSuccess {
		t.Errorf("after a refused change: %v", got)
	}
	if err := server.Reconfigure(good); err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, through(server, query, TCP)); got.Rcode != dns.RcodeRefused {
		t.Errorf("after the change: %v", got)
	}
}
