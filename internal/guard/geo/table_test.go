package geo

import (
	"iter"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestLookup(t *testing.T) {
	table := readTable(t)
	for text, want := range map[string]Place{
		"1.255.255.255":                         {},
		"2.0.0.0":                               {Country: "FI", Continent: "EU", ASN: 64500},
		"2.0.0.127":                             {Country: "FI", Continent: "EU", ASN: 64500},
		"2.0.0.128":                             {Country: "FI", Continent: "EU", ASN: 64501},
		"2.0.1.0":                               {Country: "SE", Continent: "EU", ASN: 64501},
		"2.0.1.57":                              {ASN: 64501},
		"2.0.2.0":                               {},
		"3.0.0.1":                               {},
		"5.5.5.5":                               {Country: "GB", Continent: "EU"},
		"5.5.6.5":                               {Country: "EU", Continent: "EU"},
		"::ffff:2.0.0.0":                        {Country: "FI", Continent: "EU", ASN: 64500},
		"2001:200::":                            {Country: "JP", Continent: "AS", ASN: 64503},
		"2001:200:135::1":                       {Country: "SA", Continent: "AS", ASN: 64503},
		"2001:200:135::1%eth0":                  {Country: "SA", Continent: "AS", ASN: 64503},
		"2001:200:136::":                        {ASN: 64503},
		"2001:201::":                            {},
		"2001::1":                               {}, // Teredo
		"2001:200:135:ffff:ffff:ffff:ffff:ffff": {ASN: 64503},
	} {
		a := netip.MustParseAddr(text)
		got := table.Lookup(a)
		if got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		if got.Unknown() != (want.Country == "") {
			t.Errorf("%s is unknown: %v", text, got.Unknown())
		}
	}
	if got := table.Lookup(netip.Addr{}); got != (Place{}) {
		t.Errorf("no address: %+v", got)
	}
}

// ipt_geofence took private addresses for unknown ones. Here they are special, at both
// ends of each range, also where the sources have a country for them.
func TestSpecialAddressesAreNeverUnknown(t *testing.T) {
	table := readTable(t)
	for _, text := range specialPurpose {
		p := netip.MustParsePrefix(text)
		var last netip.Addr
		if p.Addr().Is4() {
			_, n := rangeV4(p)
			last = netip.AddrFrom4([4]byte(n.append(nil)))
		} else {
			_, n := rangeV6(p)
			last = n.addr()
		}
		for _, a := range []netip.Addr{p.Addr(), last} {
			if a.Is4In6() {
				continue // that IPv4 address
			}
			if got := table.Lookup(a); got != (Place{Special: true}) || got.Unknown() {
				t.Errorf("%s: %+v", a, got)
			}
		}
	}
	// One of each kind, whatever the list says.
	for _, text := range []string{
		"0.0.0.1", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.1.1", "172.31.1.1", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "255.255.255.255", "::", "::1", "64:ff9b:1::1", "100::1", "2001:2::1", "2001:10::1",
		"2001:db8::1", "3fff::1", "5f00::1", "fc00::1", "fd00::1", "fe80::1", "fec0::1", "ff02::1",
	} {
		if got := table.Lookup(netip.MustParseAddr(text)); got != (Place{Special: true}) {
			t.Errorf("%s: %+v", text, got)
		}
	}
	// Public ones beside them are not, and those of tunnels may be anybody.
	for _, text := range []string{
		"9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "192.88.99.1", "2002:0a00:0001::1", "64:ff9b::a00:1", "2001::1", "2001:db7::", "2001:db9::", "fbff::",
	} {
		if got := table.Lookup(netip.MustParseAddr(text)); got.Special || !got.Unknown() {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestRangesAreAllAddressesOnce(t *testing.T) {
	table := readTable(t)
	next, count := uint64(0), 0
	before := Place{Country: "none"}
	for r, at := range table.Ranges4() {
		if uint64(r.First) != next || r.Last < r.First {
			t.Fatalf("%v, want it from %d on", r, next)
		}
		for _, n := range []v4{v4(r.First), v4(r.Last)} {
			if a := netip.AddrFrom4([4]byte(n.append(nil))); table.Lookup(a) != at {
				t.Errorf("%s: %+v, and %+v", a, at, table.Lookup(a))
			}
		}
		if at == before {
			t.Errorf("%v and what is before it are one place: %+v", r, at)
		}
		next, before = uint64(r.Last)+1, at
		count++
	}
	if next != 1<<32 || count < 20 {
		t.Errorf("%d ranges up to %d", count, next)
	}
	from := netip.IPv6Unspecified()
	for r, at := range table.Ranges6() {
		if r.First != from || r.Last.Less(r.First) {
			t.Fatalf("%v, want it from %s on", r, from)
		}
		if !r.First.Is4In6() && table.Lookup(r.First) != at {
			t.Errorf("%s: %+v, and %+v", r.First, at, table.Lookup(r.First))
		}
		from = r.Last.Next()
	}
	if from.IsValid() {
		t.Errorf("the ranges end before %s", from)
	}
	for range table.Ranges4() {
		break
	}
}

// A table says what it knows, by what its sources said.
func TestTableKnowsWhatItsSourcesSay(t *testing.T) {
	for _, c := range []struct {
		countries, asns string
	}{{"134744072,134744072,FI\n", ""}, {"", "8.8.8.8,8.8.8.8,15169,x\n"}, {"134744072,134744072,FI\n", "8.8.8.8,8.8.8.8,15169,x\n"}, {"134744072,134744072,??\n", ""}} {
		var b Builder
		if c.countries != "" {
			if err := b.ReadCSV(strings.NewReader(c.countries), Source{}); err != nil {
				t.Fatal(err)
			}
		}
		if c.asns != "" {
			if err := b.ReadCSV(strings.NewReader(c.asns), Source{}); err != nil {
				t.Fatal(err)
			}
		}
		table, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		countries, asns := table.Has()
		if countries != strings.Contains(c.countries, "FI") || asns != (c.asns != "") {
			t.Errorf("%+v: countries %t, ASNs %t", c, countries, asns)
		}
		if countries, asns := table.Has6(); countries || asns {
			t.Errorf("%+v: of IPv6 countries %t, ASNs %t", c, countries, asns)
		}
	}
}

// Ranges4 goes through all IPv4 addresses in rising order, in the longest runs that are
// in one place.
func (t *Table) Ranges4() iter.Seq2[model.AddressRange, Place] { return ranges(&t.v4, v4.to) }

// Ranges6 is as Ranges4, for IPv6.
func (t *Table) Ranges6() iter.Seq2[Range6, Place] { return ranges(&t.v6, v6.to) }

func ranges[A address[A], R any](f *family[A], to func(A, A) R) iter.Seq2[R, Place] {
	return func(yield func(R, Place) bool) {
		cross(&f.country, &f.asn, &layer[A, bool]{}, func(first, last A, c code, asn uint32, _ bool) bool {
			return yield(to(first, last), placeOf(c, asn))
		})
	}
}
