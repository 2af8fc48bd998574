package nameserver

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/miekg/dns"
)

var listed = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/25")}

func withSubnet(name string, qtype uint16, family uint16, bits uint8, address string) *dns.Msg {
	m := request(name, qtype).SetEdns0(1232, false)
	m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: family, SourceNetmask: bits, Address: net.ParseIP(address)}}
	return m
}

func subnetOf(m *dns.Msg) *dns.EDNS0_SUBNET {
	if opt := m.IsEdns0(); opt != nil {
		for _, option := range opt.Option {
			if subnet, ok := option.(*dns.EDNS0_SUBNET); ok {
				return subnet
			}
		}
	}
	return nil
}

func TestClientSubnet(t *testing.T) {
	stranger := netip.MustParseAddrPort("198.51.100.200:53")
	for _, test := range []struct {
		about   string
		message *dns.Msg
		from    netip.AddrPort
		subnet  string // what the allocator hears
		scope   int    // -1: not repeated
	}{
		{"a /24", withSubnet("www.hosta.foo.example.", dns.TypeA, 1, 24, "203.0.113.0"), asker, "203.0.113.0/24", 24},
		{"a whole address becomes a /24", withSubnet("www.hosta.foo.example.", dns.TypeA, 1, 32, "203.0.113.77"), asker, "203.0.113.0/24", 24},
		{"a short prefix", withSubnet("www.hosta.foo.example.", dns.TypeA, 1, 12, "203.0.0.0"), asker, "203.0.0.0/12", 12},
		{"no prefix: the client does not want to be told of", withSubnet("www.hosta.foo.example.", dns.TypeA, 1, 0, "0.0.0.0"), asker, "", 0},
		{"IPv6", withSubnet("www.hosta.foo.example.", dns.TypeA, 2, 56, "2001:db8::"), asker, "", 0},
		{"of a stranger", withSubnet("www.hosta.foo.example.", dns.TypeA, 1, 24, "203.0.113.0"), stranger, "", -1},
		{"not lent: good for everybody", withSubnet("foo.example.", dns.TypeSOA, 1, 24, "203.0.113.0"), asker, "", 0},
	} {
		t.Run(test.about, func(t *testing.T) {
			server, allocator := newPublic(t, func(o *PublicOptions) { o.ClientSubnet = listed })
			reply := unpacked(t, throughFrom(server, packed(t, test.message), TCP, test.from))
			if len(reply.Answer) != 1 {
				t.Fatalf("got %v", reply)
			}
			want, got := subnetOf(test.message), subnetOf(reply)
			switch {
			case (got != nil) != (test.scope >= 0):
				t.Errorf("repeated: %v", got)
			case got != nil && (int(got.SourceScope) != test.scope || got.Family != want.Family || got.SourceNetmask != want.SourceNetmask || !got.Address.Equal(want.Address)):
				t.Errorf("%v became %v", want, got)
			}
			heard := ""
			for _, question := range allocator.questions() {
				if question.Subnet.IsValid() {
					heard = question.Subnet.String()
				}
			}
			if heard != test.subnet {
				t.Errorf("the allocator heard %q", heard)
			}
			// Over UDP the option comes back, too, and the reply is no longer.
			query := packed(t, test.message)
			if wire := throughFrom(server, query, UDP, test.from); len(wire) > len(query) || (subnetOf(unpacked(t, wire)) != nil) != (test.scope >= 0) {
				t.Errorf("over UDP %d octets for %d: %v", len(wire), len(query), unpacked(t, wire))
			}
		})
	}
}

func TestMalformedClientSubnet(t *testing.T) {
	server, allocator := newPublic(t, func(o *PublicOptions) { o.ClientSubnet = listed })
	for about, data := range map[string][]byte{
		"empty":                       {},
		"without an address":          {0, 1, 24, 0},
		"address too long":            {0, 1, 24, 0, 203, 0, 113, 0},
		"bits after the prefix":       {0, 1, 20, 0, 203, 0, 113},
		"a scope":                     {0, 1, 24, 24, 203, 0, 113},
		"more than 32 bits":           {0, 1, 33, 0, 203, 0, 113, 1, 1},
		"more than 128 bits":          slices.Concat([]byte{0, 2, 129, 0}, make([]byte, 17)),
		"a family that nobody knows":  {0, 9, 8, 0, 1},
		"longer than any can be":      make([]byte, 40),
		"an address where none is to": {0, 1, 0, 0, 1},
	} {
		m := request("www.hosta.foo.example.", dns.TypeA).SetEdns0(1232, false)
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_LOCAL{Code: dns.EDNS0SUBNET, Data: data}}
		wire := packed(t, m)
		if reply := unpacked(t, through(server, wire, TCP)); reply.Rcode != dns.RcodeFormatError {
			t.Errorf("%s: %v", about, reply)
		}
		if reply := unpacked(t, throughFrom(server, wire, TCP, netip.MustParseAddrPort("192.0.2.1:53"))); reply.Rcode != dns.RcodeSuccess {
			t.Errorf("%s, from a stranger: %v", about, reply)
		}
	}
	if n := len(allocator.questions()); n != 10 {
		t.Errorf("%d allocations", n)
	}
}
