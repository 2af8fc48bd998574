package rebind

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

func record(t testing.TB, text string) dns.RR {
	t.Helper()
	rr, err := dns.NewRR(text)
	if err != nil {
		t.Fatal(err)
	}
	return rr
}

func TestInside(t *testing.T) {
	own := netip.MustParseAddr("198.18.0.1")
	f := New(nil, func(a netip.Addr) bool { return a == own })
	for _, test := range []struct {
		text, address string // "": it may pass
	}{
		{"A 10.0.1.10", "10.0.1.10"},
		{"A 172.16.0.1", "172.16.0.1"},
		{"A 172.31.255.255", "172.31.255.255"},
		{"A 172.32.0.1", ""},
		{"A 192.168.1.1", "192.168.1.1"},
		{"A 127.0.0.1", "127.0.0.1"},
		{"A 127.1.2.3", "127.1.2.3"},
		{"A 0.0.0.0", "0.0.0.0"},
		{"A 169.254.169.254", "169.254.169.254"},
		{"A 100.64.0.1", "100.64.0.1"},
		{"A 100.63.255.255", ""},
		{"A 198.18.0.1", "198.18.0.1"},
		{"A 198.18.0.2", ""},
		{"A 192.0.2.80", ""},
		{"A 203.0.113.1", ""},
		{"AAAA 2001:db8::1", ""},
		{"AAAA ::", "::"},
		{"AAAA ::1", "::1"},
		{"AAAA fd00::1", "fd00::1"},
		{"AAAA fe80::1", "fe80::1"},
		{"AAAA fec0::1", "fec0::1"},
		{"AAAA ::ffff:10.0.1.10", "::ffff:10.0.1.10"},
		{"AAAA ::ffff:198.18.0.1", "::ffff:198.18.0.1"},
		{"AAAA ::ffff:192.0.2.80", ""},
		{"AAAA 64:ff9b::a00:10a", "64:ff9b::a00:10a"},
		{"AAAA 64:ff9b::c000:250", ""},
		{"AAAA 64:ff9b:1::a00:10a", ""},
		{"AAAA ::10.0.1.10", "::a00:10a"},
		{"HTTPS 1 . alpn=h2 ipv4hint=192.0.2.1,10.0.1.10", "10.0.1.10"},
		{"SVCB 1 . ipv6hint=2001:db8::1,fe80::7", "fe80::7"},
		{"SVCB 1 . ipv4hint=192.0.2.1", ""},
		{"HTTPS 0 svc.example.", ""},
		{"CNAME a.example.", ""},
		{`TXT "10.0.1.10"`, ""},
	} {
		address, found := f.Inside(record(t, "name.example. 60 IN "+test.text))
		if want, _ := netip.ParseAddr(test.address); found != (test.address != "") || found && address != want {
			t.Errorf("%s: %v, %v", test.text, address, found)
		}
	}
}

func TestAllows(t *testing.T) {
	f := New([]model.Name{"plex.direct.", "lan.example."}, nil)
	for name, want := range map[string]bool{
		"plex.direct.": true, "10-0-1-10.hash.plex.direct.": true, "a.lan.example.": true, "example.": false, ".": false,
		"notplex.direct.": false, "direct.": false, `a\.plex.direct.`: false,
	} {
		if f.Allows(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if New(nil, nil).Allows("plex.direct.") {
		t.Error("a filter that allows nothing allows something")
	}
	none := (*Filter)(nil)
	if !f.Same(New([]model.Name{"lan.example.", "plex.direct."}, nil)) || f.Same(New(nil, nil)) || f.Same(none) || none.Same(f) || !none.Same(none) {
		t.Error("what is the same is not, or the other way")
	}
}

// What is public stays, and the records that were given stay as they are.
func TestClean(t *testing.T) {
	f := New(nil, nil)
	var given []dns.RR
	for _, a := range []string{"192.0.2.1", "10.0.0.1", "192.0.2.2", "127.0.0.1"} {
		given = append(given, record(t, "a.example. 60 IN A "+a))
	}
	before := fmt.Sprint(given)
	kept, removed := f.Clean(given)
	if fmt.Sprint(kept) != fmt.Sprint([]dns.RR{given[0], given[2]}) || fmt.Sprint(given) != before ||
		!slices.Equal(removed, []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1")}) {
		t.Errorf("kept %v, removed %v of %v", kept, removed, given)
	}
	if kept, removed := f.Clean(kept); len(kept) != 2 || removed != nil {
		t.Errorf("kept %v, removed %v", kept, removed)
	}
}

// Whatever the octets of a message make of a record, the filter reads it.
func FuzzInside(f *testing.F) {
	for _, text := range []string{"A 10.0.0.1", "AAAA ::ffff:10.0.0.1", "HTTPS 1 . ipv4hint=10.0.0.1", "SVCB 1 . ipv6hint=fe80::1"} {
		m := new(dns.Msg).SetQuestion("a.example.", dns.TypeA)
		m.Answer = []dns.RR{record(f, "a.example. 60 IN "+text)}
		wire, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	filter := New(nil, nil)
	f.Fuzz(func(t *testing.T, wire []byte) {
		m := new(dns.Msg)
		if m.Unpack(wire) != nil {
			return
		}
		kept, removed := filter.Clean(m.Answer)
		if len(kept)+len(removed) != len(m.Answer) {
			t.Errorf("%d kept and %d removed of %d", len(kept), len(removed), len(m.Answer))
		}
		if _, removed := filter.Clean(kept); len(removed) > 0 {
			t.Errorf("%v are left", removed)
		}
	})
}
