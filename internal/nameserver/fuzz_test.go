package nameserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// seeds are messages of every kind the servers tell apart.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	var messages [][]byte
	for _, name := range append(everyName, "100.0.0.10.in-addr.arpa.", strings.Repeat("a.", 120)+"foo.example.") {
		for _, qtype := range everyType {
			messages = append(messages, packed(f, request(name, qtype)), packed(f, request(name, qtype).SetEdns0(1232, true)))
		}
	}
	for _, m := range []*dns.Msg{
		new(dns.Msg).SetUpdate("foo.example."), new(dns.Msg).SetNotify("foo.example."),
		new(dns.Msg).SetIxfr("foo.example.", 1, "a.", "b."), request("hosta.foo.example.", 1).SetEdns0(0, false).SetTsig("k.", dns.HmacSHA256, 300, 1),
	} {
		messages = append(messages, packed(f, m))
	}
	forwarded := slices.Clone(messages[len(messages)-1])
	forwarded[0] ^= 0x40 // the signature's Original ID stays
	return append(messages, forwarded, []byte{}, []byte("\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
}

// checkReply holds what is true of every reply to any message.
func checkReply(t *testing.T, message, reply []byte, limit int) {
	t.Helper()
	if len(reply) == 0 {
		if len(message) >= headerLength && message[2]&0x80 == 0 {
			t.Fatalf("silent on %x", message)
		}
		return
	}
	if len(reply) > limit {
		t.Fatalf("reply of %d octets, limit %d", len(reply), limit)
	}
	if !bytes.Equal(reply[:2], message[:2]) || reply[2]&0x80 == 0 || reply[2]&0x78 != message[2]&0x78 {
		t.Fatalf("header %x answers %x", reply[:4], message[:4])
	}
	m := new(dns.Msg)
	if err := m.Unpack(reply); err != nil {
		t.Fatalf("reply %x cannot be read: %v", reply, err)
	}
	switch binary.BigEndian.Uint16(reply[4:]) {
	case 0:
		if m.Rcode != dns.RcodeFormatError && m.Rcode != dns.RcodeNotImplemented {
			t.Fatalf("no question in %v", m)
		}
	case 1:
		end := questionEnd(reply)
		if end > len(message) || !bytes.Equal(reply[headerLength:end], message[headerLength:end]) {
			t.Fatalf("question of %x answers %x", reply, message)
		}
	default:
		t.Fatalf("several questions in %v", m)
	}
}

// questionEnd assumes a whole question without pointers.
func questionEnd(message []byte) int {
	offset := headerLength
	for message[offset] != 0 {
		offset += 1 + int(message[offset])
	}
	return offset + 5
}

// checkAgainstLibrary compares our reading of a query with the library's.
func checkAgainstLibrary(t *testing.T, message []byte) {
	t.Helper()
	var q query
	if q.parse(message) != none || q.name == "" {
		return
	}
	m := new(dns.Msg)
	if err := m.Unpack(message); err != nil {
		return // it also reads the data of records that mean nothing to us
	}
	asked := m.Question[0]
	if asked.Name != q.name || asked.Qtype != q.qtype || asked.Qclass != q.qclass || strings.ToLower(q.name) != string(q.canonical) {
		t.Fatalf("read %q %d %d as %+v", q.name, q.qtype, q.qclass, asked)
	}
	opt := m.IsEdns0()
	if q.qtype != dns.TypeIXFR && (opt != nil) != q.edns.present {
		t.Fatalf("OPT %v read as %+v", opt, q.edns)
	}
	if subnet := subnetOf(m); q.edns.subnet.present && !q.edns.subnet.malformed && subnet != nil {
		prefix, _ := q.edns.subnet.prefix()
		if prefix.Bits() != int(subnet.SourceNetmask) || prefix.Addr().String() != subnet.Address.String() {
			t.Fatalf("subnet %v read as %s", subnet, prefix)
		}
	}
	if q.edns.present && (opt.UDPSize() != q.edns.size || opt.Version() != q.edns.version || opt.Do() != q.edns.do) {
		t.Fatalf("OPT %v read as %+v", opt, q.edns)
	}
}

func inZones(m *dns.Msg) bool {
	for _, zone := range testZones {
		if dns.IsSubDomain(string(zone.Name), m.Question[0].Name) {
			return true
		}
	}
	return false
}

// checkAliasing holds what a server that knows its asker as one that minimises
// may lend: never for a host by its own name, and for an alias only its host.
func checkAliasing(t *testing.T, reply []byte, lent []Question) {
	t.Helper()
	if len(lent) == 0 {
		return
	}
	m := unpacked(t, reply)
	asked := model.Name(strings.ToLower(m.Question[0].Name))
	_, known := realm().Find(asked)
	if len(lent) != 1 || asked == testHost || known && lent[0].Name != asked || !known && lent[0].Name != testHost {
		t.Fatalf("lent %v for %v", lent, m)
	}
	if len(m.Answer) != 1 || m.Answer[0].Header().Name != m.Question[0].Name || m.Answer[0].Header().Ttl != 0 {
		t.Fatalf("answered %v", m)
	}
}

func FuzzPublicMessage(f *testing.F) {
	for _, message := range seeds(f) {
		f.Add(message)
	}
	now := model.Instant(0)
	clock := func(o *PublicOptions) { o.Now = func() model.Instant { return now } }
	verified, allocator := newPublic(f, clock)
	static, _ := newPublic(f, func(o *PublicOptions) { clock(o); o.Zones, o.Directory = fooZones(f), mixed })
	for _, name := range []string{"www.foo.example.", "a.lab.foo.example.", "x.wild.foo.example.", `a\.b.dyn.foo.example.`, "loop.foo.example."} {
		for _, qtype := range append(everyType, dns.TypeMX) {
			f.Add(packed(f, withCookie(name, qtype, testClientCookie)))
			f.Add(packed(f, withSubnet(name, qtype, 1, 24, "203.0.113.0")))
		}
	}
	open, _ := newPublic(f, func(o *PublicOptions) { clock(o); o.Verify = VerifyNone })
	// A third one knows the asker as one that minimises; its key makes aliases
	// that the seeds can hold.
	aliasing, lender := newPublic(f, clock)
	aliasing.aliases.key = [aliasKey]byte{1}
	proven(f, aliasing)
	alias, _ := aliasing.aliases.make(now, testZone, testHost, asker.Addr())
	for _, name := range []string{string(alias), strings.ToUpper(string(alias)), "a." + string(alias), "vv" + string(alias[2:])} {
		for _, qtype := range everyType {
			f.Add(packed(f, request(name, qtype)))
		}
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		allocator.asked = nil
		checkReply(t, message, through(verified, message, UDP), len(message))
		if len(allocator.asked) != 0 {
			t.Fatalf("allocated for %x over UDP", message)
		}
		checkReply(t, message, through(open, message, UDP), len(message)+16)
		checkReply(t, message, through(static, message, UDP), max(len(message), ownSize))
		checkReply(t, message, through(static, message, TCP), streamLimit)
		checkReply(t, message, through(aliasing, message, UDP), len(message))
		lender.asked = nil
		checkAliasing(t, through(aliasing, message, TCP), lender.asked)
		reply := through(verified, message, TCP)
		checkReply(t, message, reply, streamLimit)
		checkAgainstLibrary(t, message)
		if reply == nil {
			return
		}
		m := unpacked(t, reply)
		if m.Truncated {
			t.Fatalf("TC=1 over TCP: %v", m)
		}
		positive := m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError
		if positive && (m.Question[0].Qclass != dns.ClassINET || !inZones(m)) {
			t.Fatalf("not REFUSED: %v", m)
		}
	})
}

func FuzzPrivateMessage(f *testing.F) {
	upstreamReply := packed(f, new(dns.Msg).SetReply(request("www.example.net.", dns.TypeA)))
	for _, message := range seeds(f) {
		f.Add(message, upstreamReply)
	}
	for _, line := range []string{wwwNet, "a. 1 IN CNAME b.", `\000\.x. 5 IN TXT "y"`, "z. 1 IN SVCB 1 . alpn=h2", ". 0 IN SOA . . 1 2 3 4 5"} {
		m := new(dns.Msg).SetReply(request("www.example.net.", dns.TypeA))
		record, err := dns.NewRR(line)
		if err != nil {
			f.Fatal(err)
		}
		m.Answer, m.Ns = []dns.RR{record}, []dns.RR{record}
		f.Add(packed(f, request("www.example.net.", dns.TypeA).SetEdns0(1232, true)), packed(f, m))
	}
	alone := newPrivate(f, nil)
	f.Fuzz(func(t *testing.T, message, upstream []byte) {
		server := newPrivate(t, func(o *PrivateOptions) { o.Upstream = []netip.AddrPort{asker} })
		server.settings.Load().upstream.exchange = func(context.Context, netip.AddrPort, *dns.Msg) (*dns.Msg, error) {
			m := new(dns.Msg)
			return m, m.Unpack(upstream)
		}
		allowed := minimumUDPSize
		var q query
		if q.parse(message) == none {
			allowed = min(q.udpSize(), ownSize)
		}
		for range 2 { // the second time perhaps from the cache
			checkReply(t, message, through(server, message, UDP), allowed)
			checkReply(t, message, through(server, message, TCP), dns.MaxMsgSize-1)
		}
		reply := through(alone, message, UDP)
		checkReply(t, message, reply, allowed)
		if reply == nil {
			return
		}
		m := unpacked(t, reply)
		positive := m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError
		if positive && !inZones(m) && !dns.IsSubDomain("in-addr.arpa.", m.Question[0].Name) {
			t.Fatalf("not REFUSED: %v", m)
		}
	})
}
