package nameserver

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/zone"
)

const testSecret = "c2VjcmV0IG9mIHRoZSB0ZXN0cywgMzIgb2N0ZXRzLi4="

func testKey(t testing.TB, name model.Name) Key {
	t.Helper()
	key, err := NewKey(name, "hmac-sha256", testSecret)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

const copyZone = `$TTL 300
@	SOA	ns.foo.example. mail.foo.example. 100 7200 600 86400 120
	NS	ns2
	MX	10 mail
ns2	A	127.0.0.1
mail	A	198.51.100.25
www	CNAME	shop
lab	NS	ns.lab
ns.lab	A	198.51.100.54
_dmarc.shop	TXT	"beside a lent name"
child	TXT	"hidden by a zone of our own"
`

// copied is a directory beside copyZone: no apex, no wildcard.
func copied() Directory {
	address := netip.MustParseAddr("10.0.0.100")
	return testDirectory{
		"shop.foo.example.":    {Address: address, Ports: ports("tcp/80", "tcp/443")},
		"in.shop.foo.example.": {Address: address, Ports: ports("tcp/22")},
		"a.b.foo.example.":     {Address: address, Ports: ports("tcp/22")},
		"closed.foo.example.":  {Address: address},
		"x.child.foo.example.": {Address: address, Ports: ports("tcp/22")},
	}
}

func parsed(t testing.TB, name model.Name, text string) *zone.Zone {
	t.Helper()
	data, err := zone.Parse(strings.NewReader(text), name, "foo.zone")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// primary is a server with a zone that others copy.
func primary(t testing.TB, secondaries ...netip.AddrPort) *Public {
	t.Helper()
	server, _ := newPublic(t, func(o *PublicOptions) { copying(t, o, copyZone, secondaries...) })
	return server
}

func copying(t testing.TB, o *PublicOptions, text string, secondaries ...netip.AddrPort) {
	t.Helper()
	o.Directory = copied
	o.Keys = []Key{testKey(t, "copy.key."), testKey(t, "other.key."), testKey(t, "update.key.")}
	o.Zones = []Zone{
		{Name: "foo.example.", Data: parsed(t, "foo.example.", text), Updaters: []model.Name{"update.key."}},
		{Name: "child.foo.example."},
	}
	if len(secondaries) == 0 {
		secondaries = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}
	}
	for _, address := range secondaries {
		o.Zones[0].Secondaries = append(o.Zones[0].Secondaries, Secondary{address, "copy.key."})
	}
}

// axfr copies the zone and returns its records.
func axfr(t testing.TB, address, key string, m *dns.Msg) ([]string, error) {
	t.Helper()
	transfer := dns.Transfer{TsigSecret: map[string]string{key: testSecret}}
	if key != "" {
		m.SetTsig(key, dns.HmacSHA256, 300, time.Now().Unix())
	}
	envelopes, err := transfer.In(m, address)
	if err != nil {
		return nil, err
	}
	var records []dns.RR
	for envelope := range envelopes {
		if envelope.Error != nil {
			return nil, envelope.Error
		}
		records = append(records, envelope.RR...)
	}
	return texts(records), nil
}

func TestTransfer(t *testing.T) {
	address := start(t, primary(t))
	got, err := axfr(t, address, "copy.key.", new(dns.Msg).SetAxfr("foo.example."))
	if err != nil {
		t.Fatal(err)
	}
	soa := "foo.example. 300 IN SOA ns.foo.example. mail.foo.example. 100 7200 600 86400 120"
	want := []string{
		// Each lent name that is below no other is delegated to this server; what
		// is below stays here. A host that opens nothing is not told of.
		"a.b.foo.example. 3600 IN NS ns.foo.example.",
		"child.foo.example. 3600 IN NS ns.foo.example.",
		"foo.example. 300 IN MX 10 mail.foo.example.",
		"foo.example. 300 IN NS ns.foo.example.",
		"foo.example. 300 IN NS ns2.foo.example.",
		"lab.foo.example. 300 IN NS ns.lab.foo.example.",
		"mail.foo.example. 300 IN A 198.51.100.25",
		"ns.foo.example. 3600 IN A 198.18.0.1",
		"ns.lab.foo.example. 300 IN A 198.51.100.54",
		"ns2.foo.example. 300 IN A 127.0.0.1",
		"shop.foo.example. 3600 IN NS ns.foo.example.",
		"www.foo.example. 300 IN CNAME shop.foo.example.",
	}
	if len(got) < 2 || got[0] != soa || got[len(got)-1] != soa {
		t.Fatalf("got %q", got)
	}
	got = got[1 : len(got)-1]
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTransferIsForSecondaries(t *testing.T) {
	address := start(t, primary(t))
	for about, test := range map[string]struct{ zone, key, want string }{
		"no key":         {"foo.example.", "", "no signature"},
		"another's key":  {"foo.example.", "other.key.", "bad xfr rcode: 5"},
		"unknown key":    {"foo.example.", "unknown.key.", "9"},
		"another's zone": {"child.foo.example.", "copy.key.", "bad xfr rcode: 5"},
		"no zone":        {"shop.foo.example.", "copy.key.", "bad xfr rcode: 9"},
	} {
		if got, err := axfr(t, address, test.key, new(dns.Msg).SetAxfr(test.zone)); err == nil || !strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "auth") {
			t.Errorf("%s: %q, %v", about, got, err)
		}
	}
}

func TestSignatures(t *testing.T) {
	server := primary(t)
	ask := func(change func(*dns.Msg), secret, mac string, transport Transport) (*dns.Msg, []byte, error) {
		m := request("foo.example.", dns.TypeSOA)
		m.SetTsig("copy.key.", dns.HmacSHA256, 300, time.Now().Unix())
		change(m)
		wire, requestMAC, err := dns.TsigGenerate(m, secret, mac, false)
		if err != nil {
			t.Fatal(err)
		}
		wire[0] ^= 0x40 // as who forwards it may (RFC 8945 §4.2, Original ID)
		reply := through(server, wire, transport)
		if transport == UDP && len(reply) > ownSize {
			t.Errorf("%d octets", len(reply))
		}
		if !bytes.Equal(reply[:2], wire[:2]) {
			t.Errorf("message %x answers %x", reply[:2], wire[:2])
		}
		return unpacked(t, reply), reply, dns.TsigVerify(slices.Clone(reply), testSecret, requestMAC, false)
	}
	good := func(*dns.Msg) {}
	for _, transport := range []Transport{UDP, TCP} {
		if m, _, err := ask(good, testSecret, "", transport); err != nil || len(m.Answer) != 1 || m.Truncated {
			t.Errorf("%s: %v, %v", transport, err, m)
		}
	}
	for about, test := range map[string]struct {
		change func(*dns.Msg)
		secret string
		code   uint16
		signed bool
	}{
		"unknown key":       {func(m *dns.Msg) { m.IsTsig().Hdr.Name = "nobody.key." }, testSecret, dns.RcodeBadKey, false},
		"another algorithm": {func(m *dns.Msg) { m.IsTsig().Algorithm = dns.HmacSHA1 }, testSecret, dns.RcodeBadKey, false},
		"another secret":    {good, "b3RoZXIgc2VjcmV0IG9mIHRoZSB0ZXN0cw==", dns.RcodeBadSig, false},
		"too old":           {func(m *dns.Msg) { m.IsTsig().TimeSigned -= 1000 }, testSecret, dns.RcodeBadTime, true},
	} {
		m, _, err := ask(test.change, test.secret, "", TCP)
		tsig := m.IsTsig()
		if m.Rcode != dns.RcodeNotAuth || tsig == nil || tsig.Error != test.code || (tsig.MACSize > 0) != test.signed || len(m.Answer) != 0 {
			t.Errorf("%s: %v, %v", about, err, m)
		}
	}
	// Names that point back into the question cost a forger two octets each.
	short := append(packed(t, request("a.rather.long.name.of.foo.example.", dns.TypeSOA)), 0xC0, 12, 0, 250, 0, 255, 0, 0, 0, 0, 0, 18, 0xC0, 12, 0, 0, 0, 0, 0, 0, 1, 44, 0, 0, 0, 0, 0, 0, 0, 0)
	short[11] = 1
	wire := through(server, short, UDP)
	if m := unpacked(t, wire); len(wire) > len(short) || !m.Truncated {
		t.Errorf("%d octets for %d: %v", len(wire), len(short), m)
	}
	if m := unpacked(t, through(server, short, TCP)); m.Rcode != dns.RcodeNotAuth {
		t.Errorf("over TCP: %v", m)
	}
	// A record without data cannot be understood.
	empty := append(packed(t, request("foo.example.", dns.TypeSOA)), 0, 0, 250, 0, 255, 0, 0, 0, 0, 0, 0)
	empty[11] = 1
	for _, transport := range []Transport{UDP, TCP} {
		if m := unpacked(t, through(server, empty, transport)); m.Rcode != dns.RcodeFormatError || len(m.Extra) != 0 {
			t.Errorf("without data over %s: %v", transport, m)
		}
	}
	if s := server.Statistics(); s.BadSignature != 6 {
		t.Errorf("counters %+v", s)
	}
}

func TestLentNamesAreZonesBesideSecondaries(t *testing.T) {
	server := primary(t)
	for _, test := range []struct {
		name  string
		qtype uint16
		owner string // of the SOA
	}{
		{"shop.foo.example.", dns.TypeAAAA, "shop.foo.example."},
		{"shop.foo.example.", dns.TypeSOA, "shop.foo.example."},
		{"nobody.shop.foo.example.", dns.TypeA, "shop.foo.example."},
		{"in.shop.foo.example.", dns.TypeAAAA, "shop.foo.example."},
		{"shop.foo.example.", dns.TypeDS, "foo.example."},
		{"mail.foo.example.", dns.TypeTXT, "foo.example."},
		{"closed.foo.example.", dns.TypeA, "foo.example."},
	} {
		reply := unpacked(t, through(server, packed(t, request(test.name, test.qtype)), TCP))
		found := append(reply.Ns, reply.Answer...)
		if len(found) != 1 || found[0].Header().Rrtype != dns.TypeSOA || found[0].Header().Name != test.owner || !reply.Authoritative {
			t.Errorf("%s %s: %v", test.name, dns.Type(test.qtype), reply)
		}
	}
	reply := unpacked(t, through(server, packed(t, request("shop.foo.example.", dns.TypeNS)), TCP))
	if got := texts(reply.Answer); !slices.Equal(got, []string{"shop.foo.example. 3600 IN NS ns.foo.example."}) {
		t.Errorf("NS of a lent name: %v", reply)
	}
}

func TestDifferences(t *testing.T) {
	server := primary(t)
	address := start(t, server)
	again := func(text string) {
		t.Helper()
		options := publicOptions(&testAllocator{})
		copying(t, &options, text)
		if err := server.Reconfigure(options); err != nil {
			t.Fatal(err)
		}
	}
	again(copyZone) // nothing new: the serial stays
	ixfr := func(serial uint32) []string {
		t.Helper()
		got, err := axfr(t, address, "copy.key.", new(dns.Msg).SetIxfr("foo.example.", serial, "a.", "b."))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := ixfr(100); len(got) != 1 {
		t.Errorf("nothing new: %q", got)
	}
	if got := ixfr(200); len(got) != 1 { // RFC 1995 §4: theirs is newer
		t.Errorf("newer than ours: %q", got)
	}
	again(copyZone + "new TXT \"1\"\n")
	again(strings.Replace(copyZone, "198.51.100.25", "198.51.100.26", 1) + "new TXT \"2\"\n")
	soa := func(serial int) string {
		return fmt.Sprintf("foo.example. 300 IN SOA ns.foo.example. mail.foo.example. %d 7200 600 86400 120", serial)
	}
	for serial, want := range map[uint32][]string{
		100: {soa(102), soa(100), "mail.foo.example. 300 IN A 198.51.100.25", soa(102), "mail.foo.example. 300 IN A 198.51.100.26", `new.foo.example. 300 IN TXT "2"`, soa(102)},
		101: {soa(102), soa(101), "mail.foo.example. 300 IN A 198.51.100.25", `new.foo.example. 300 IN TXT "1"`, soa(102), "mail.foo.example. 300 IN A 198.51.100.26", `new.foo.example. 300 IN TXT "2"`, soa(102)},
	} {
		if got := ixfr(serial); !slices.Equal(got, want) {
			t.Errorf("from %d: %q", serial, got)
		}
	}
	if got := ixfr(50); len(got) != 15 || got[0] != soa(102) || got[14] != soa(102) {
		t.Errorf("what is not kept: %q", got)
	}
	for i := range 10 {
		again(copyZone + fmt.Sprintf("new TXT \"%d\"\n", 10+i))
	}
	if got := ixfr(102); got[1] == soa(102) {
		t.Errorf("kept for too long: %q", got)
	}
}

// A zone of many messages, and one that no single message could hold.
func TestLargeTransfer(t *testing.T) {
	server, _ := newPublic(t, func(o *PublicOptions) {
		copying(t, o, copyZone+"$GENERATE 1-4000 host$ TXT \"a text of some length for number $\"\n")
	})
	got, err := axfr(t, start(t, server), "copy.key.", new(dns.Msg).SetAxfr("foo.example."))
	if err != nil || len(got) != 4000+12+2 {
		t.Errorf("%d records, %v", len(got), err)
	}
}
