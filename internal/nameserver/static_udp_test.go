package nameserver

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/zone"
)

// Static answers come over UDP as they are, what is lent only by TCP.
func TestStaticOverUDP(t *testing.T) {
	for _, test := range []struct {
		name      string
		qtype     uint16
		truncated bool
	}{
		{"foo.example.", dns.TypeMX, false},
		{"foo.example.", dns.TypeNS, false},
		{"foo.example.", dns.TypeSOA, false},
		{"far.foo.example.", dns.TypeA, false},
		{"a.lab.foo.example.", dns.TypeA, false},
		{"nobody.foo.example.", dns.TypeA, false},
		{"hosta.foo.example.", dns.TypeTXT, false},
		{"foo.example.", dns.TypeA, true},
		{"foo.example.", dns.TypeAAAA, true},
		{"www.foo.example.", dns.TypeA, true},
		{"www.foo.example.", dns.TypeAAAA, true},
		{"shop.foo.example.", dns.TypeANY, true},
		{"x.wild.foo.example.", dns.TypeHTTPS, true},
		{"closed.foo.example.", dns.TypeAAAA, true},
	} {
		server, allocator := newPublic(t, func(o *PublicOptions) { o.Zones, o.Directory = fooZones(t), mixed })
		query := packed(t, request(test.name, test.qtype))
		wire := through(server, query, UDP)
		if reply := unpacked(t, wire); reply.Truncated != test.truncated || test.truncated && len(wire) > len(query) {
			t.Errorf("%s %s: %v", test.name, dns.Type(test.qtype), reply)
		}
		if asked := allocator.questions(); len(asked) != 0 {
			t.Errorf("%s %s: lent for %v", test.name, dns.Type(test.qtype), asked)
		}
	}
}

func TestStaticSizesAndRates(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "mid%d TXT \"%d\"\nbig TXT \"%d%s\"\n", i, i, i, strings.Repeat("x", 100))
	}
	for i := range 8 {
		fmt.Fprintf(&text, "mid TXT \"%d%s\"\n", i, strings.Repeat("y", 100))
	}
	fmt.Fprintf(&text, "huge MX 1 mail\nmail A 198.51.100.1\n")
	data, err := zone.Parse(strings.NewReader(text.String()), "foo.example.", "foo.zone")
	if err != nil {
		t.Fatal(err)
	}
	now := model.Instant(0)
	server, _ := newPublic(t, func(o *PublicOptions) {
		o.Zones, o.Directory, o.Now = []Zone{{Name: "foo.example.", Data: data}}, mixed, func() model.Instant { return now }
	})
	udp := func(name string, size uint16, from string) *dns.Msg {
		m := request(name, dns.TypeTXT)
		if size > 0 {
			m.SetEdns0(size, false)
		}
		wire := throughFrom(server, packed(t, m), UDP, netip.MustParseAddrPort(from))
		if len(wire) > int(max(size, 512)) || len(wire) > ownSize {
			t.Errorf("%s: %d octets for size %d", name, len(wire), size)
		}
		return unpacked(t, wire)
	}
	for _, test := range []struct {
		name      string
		size      uint16
		truncated bool
	}{
		{"mid1.foo.example.", 0, false}, {"mid.foo.example.", 0, true}, {"mid.foo.example.", 800, true},
		{"mid.foo.example.", 1232, false}, {"mid.foo.example.", 4096, false}, {"big.foo.example.", 65535, true},
	} {
		if reply := udp(test.name, test.size, "192.0.2.1:53"); reply.Truncated != test.truncated {
			t.Errorf("%s, size %d: %v", test.name, test.size, reply)
		}
	}
	if reply := unpacked(t, through(server, packed(t, request("big.foo.example.", dns.TypeTXT)), TCP)); len(reply.Answer) != 40 {
		t.Errorf("over TCP: %d records", len(reply.Answer))
	}
	count := func(from string) (whole int) {
		for i := range 200 {
			reply := udp("mid.foo.example.", 1232, fmt.Sprintf(from, i))
			if !reply.Truncated {
				whole++
			}
		}
		return whole
	}
	if n := count("203.0.113.%d:53"); n < 30 || n > 40 { // 32 KiB, in answers of about 900 octets more than asked
		t.Errorf("%d whole answers for a /24", n)
	}
	if n := count("198.51.%d.1:53"); n != 200 {
		t.Errorf("%d whole answers for 200 networks", n)
	}
	if s := server.Statistics(); s.Slowed < 160 {
		t.Errorf("counters %+v", s)
	}
}
