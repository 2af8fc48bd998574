package nameserver

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// reasonOf is the extended error of a reply as the library writes it, or "".
func reasonOf(m *dns.Msg) string {
	if opt := m.IsEdns0(); opt != nil {
		for _, option := range opt.Option {
			if reason, ok := option.(*dns.EDNS0_EDE); ok {
				return reason.String()
			}
		}
	}
	return ""
}

func TestRefusalsSayWhy(t *testing.T) {
	for _, test := range []struct {
		about, name string
		qtype       uint16
		err         error
		rcode       int
		why         string
	}{
		{"exhausted", "hosta.foo.example.", dns.TypeA, ErrExhausted, dns.RcodeServerFailure, "0 (Other): (no pool address is free"},
		{"refused", "hosta.foo.example.", dns.TypeA, ErrRefused, dns.RcodeRefused, "18 (Prohibited): (refused by a quota"},
		{"failed", "hosta.foo.example.", dns.TypeA, ErrFailed, dns.RcodeServerFailure, "0 (Other): (the address could not"},
		{"outside", "example.net.", dns.TypeA, nil, dns.RcodeRefused, "20 (Not Authoritative)"},
		{"transfer", "foo.example.", dns.TypeAXFR, nil, dns.RcodeRefused, "21 (Not Supported)"},
		{"an answer", "hosta.foo.example.", dns.TypeA, nil, 0, ""},
		{"no such name", "nobody.foo.example.", dns.TypeA, nil, dns.RcodeNameError, ""},
	} {
		t.Run(test.about, func(t *testing.T) {
			server, allocator := newPublic(t, nil)
			allocator.err = test.err
			reply := unpacked(t, through(server, packed(t, request(test.name, test.qtype).SetEdns0(1232, false)), TCP))
			if why := reasonOf(reply); reply.Rcode != test.rcode || !strings.HasPrefix(why, test.why) || test.why == "" && why != "" {
				t.Errorf("%s in %v", why, reply)
			}
			// Who does not speak EDNS gets none (RFC 6891 §7).
			reply = unpacked(t, through(server, packed(t, request(test.name, test.qtype)), TCP))
			if reply.IsEdns0() != nil || reply.Rcode != test.rcode {
				t.Errorf("without EDNS: %v", reply)
			}
		})
	}
}

// Over UDP a reason is added only as far as the question leaves room for it.
func TestReasonsNeverAmplify(t *testing.T) {
	server, _ := newPublic(t, nil)
	for padding, want := range map[int]string{0: "", 1: "", 2: "20 (Not Authoritative): ()", 10: "20 (Not Authoritative): ()", 100: "20 (Not Authoritative): (no zone of this server)"} {
		m := request("example.net.", dns.TypeA).SetEdns0(1232, false)
		m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_PADDING{Padding: make([]byte, padding)}}
		query := packed(t, m)
		reply := through(server, query, UDP)
		if why := reasonOf(unpacked(t, reply)); why != want || len(reply) > len(query) {
			t.Errorf("%d octets of padding: %q, %d octets for %d", padding, why, len(reply), len(query))
		}
	}
}
