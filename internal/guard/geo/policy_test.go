package geo

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

var anyAddress = netip.MustParseAddr("8.8.8.8")

func regions(t testing.TB, texts ...string) (list []model.Region) {
	t.Helper()
	for _, text := range texts {
		s, err := model.ParseRegion(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func policy(t testing.TB, rules Rules) *Policy {
	t.Helper()
	p, err := NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// deny returns a policy that denies what it is given, and nothing else.
func deny(t testing.TB, texts ...string) *Policy {
	t.Helper()
	return policy(t, Rules{Deny: regions(t, texts...), Unknown: Allow, Default: Allow})
}

// A prefix is over an ASN, that over a country, that over a continent, in both families
// and whichever of them allows.
func TestWhatSaysMoreDecides(t *testing.T) {
	allowing := policy(t, Rules{
		Allow: regions(t, "asn:64500", "country:FI", "country:JP"), Deny: regions(t, "asn:64501", "continent:EU", "country:RU"),
		AllowPrefixes: prefixes("5.0.0.0/8", "5.6.7.0/24", "2a00::/16", "10.1.0.0/16"),
		DenyPrefixes:  prefixes("5.6.0.0/16", "2a00:1::/32", "10.0.0.0/8", "fd00::/8"),
		Unknown:       Deny, Default: Allow,
	})
	in := func(country string, asn uint32) Place { return placeOf(letters(country), asn) }
	nowhere := Place{Special: true}
	for _, c := range []struct {
		at     Place
		addr   string
		want   Action
		reason Reason
	}{
		{in("DE", 0), "9.9.9.9", Deny, "continent:EU"},
		{in("DE", 0), "2600::1", Deny, "continent:EU"},
		{in("FI", 0), "9.9.9.9", Allow, "country:FI"},
		{in("FI", 64501), "9.9.9.9", Deny, "asn:64501"},
		{in("RU", 64500), "2600::1", Allow, "asn:64500"},
		{in("RU", 64502), "2600::1", Deny, "country:RU"},
		{in("US", 0), "9.9.9.9", Allow, "default"},
		{Place{}, "9.9.9.9", Deny, "unknown"},
		{Place{}, "2600::1", Deny, "unknown"},
		{Place{ASN: 64500}, "9.9.9.9", Allow, "asn:64500"},
		{in("RU", 64501), "5.9.9.9", Allow, "cidr:5.0.0.0/8"},
		{in("FI", 64500), "5.6.9.9", Deny, "cidr:5.6.0.0/16"},
		{in("RU", 64501), "5.6.7.8", Allow, "cidr:5.6.7.0/24"},
		{in("RU", 64501), "::ffff:5.6.7.8", Allow, "cidr:5.6.7.0/24"},
		{in("RU", 64501), "2a00:2::1", Allow, "cidr:2a00::/16"},
		{in("FI", 64500), "2a00:1::1", Deny, "cidr:2a00:1::/32"},
		{nowhere, "192.168.1.1", Allow, "special-purpose"},
		{nowhere, "fe80::1", Allow, "special-purpose"},
		{nowhere, "10.2.0.1", Deny, "cidr:10.0.0.0/8"},
		{nowhere, "10.1.0.1", Allow, "cidr:10.1.0.0/16"},
		{nowhere, "fd00::1", Deny, "cidr:fd00::/8"},
	} {
		got, reason := allowing.Decide(c.at, netip.MustParseAddr(c.addr))
		if got != c.want || reason != c.reason {
			t.Errorf("%s at %+v: %s by %s, want %s by %s", c.addr, c.at, got, reason, c.want, c.reason)
		}
	}
}

func TestUnknownIsNeitherDefaultNorSpecial(t *testing.T) {
	for _, unknown := range []Action{Allow, Deny} {
		for _, otherwise := range []Action{Allow, Deny} {
			p := policy(t, Rules{Unknown: unknown, Default: otherwise})
			if got, _ := p.Decide(Place{}, anyAddress); got != unknown {
				t.Errorf("unknown %s, default %s: unknown addresses get %s", unknown, otherwise, got)
			}
			if got, _ := p.Decide(placeOf(letters("FI"), 0), anyAddress); got != otherwise {
				t.Errorf("unknown %s, default %s: others get %s", unknown, otherwise, got)
			}
			if got, _ := p.Decide(Place{Special: true}, anyAddress); got != Allow {
				t.Errorf("unknown %s, default %s: special-purpose addresses get %s", unknown, otherwise, got)
			}
		}
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	fi := regions(t, "country:FI")
	for want, rules := range map[string]Rules{
		"unknown: say allow or deny":             {Default: Allow},
		"default: say allow or deny":             {Unknown: Deny},
		"country:FI is both allowed and denied":  {Allow: fi, Deny: fi, Unknown: Deny, Default: Deny},
		"continent:SA is both":                   {Allow: regions(t, "continent:SA"), Deny: regions(t, "country:SA", "continent:SA"), Unknown: Deny, Default: Deny},
		"asn:7 is both":                          {Allow: regions(t, "asn:7"), Deny: regions(t, "asn:7"), Unknown: Deny, Default: Deny},
		"want country:FI":                        {Allow: []model.Region{{}}, Unknown: Deny, Default: Deny},
		"5.0.0.0/8 is both":                      {AllowPrefixes: prefixes("5.0.0.0/8"), DenyPrefixes: prefixes("5.0.0.0/8"), Unknown: Deny, Default: Deny},
		"2a00::/16 is both":                      {AllowPrefixes: prefixes("2a00::/16"), DenyPrefixes: prefixes("2a00::/16"), Unknown: Deny, Default: Deny},
		"the prefix around it is 5.0.0.0/8":      {DenyPrefixes: prefixes("5.0.0.1/8"), Unknown: Deny, Default: Deny},
		"write the IPv4 prefix":                  {DenyPrefixes: prefixes("::ffff:5.0.0.0/104"), Unknown: Deny, Default: Deny},
		"want an address prefix":                 {DenyPrefixes: []netip.Prefix{{}}, Unknown: Deny, Default: Deny},
		"65537 prefixes: at most 65536":          {DenyPrefixes: make([]netip.Prefix, MostPrefixes+1), Unknown: Deny, Default: Deny},
		"65537 countries, continents and ASNs: ": {Deny: make([]model.Region, MostRegions+1), Unknown: Deny, Default: Deny},
	} {
		if p, err := NewPolicy(rules); err == nil || p != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a policy: %v, %v; want %q", p != nil, err, want)
		}
	}
	if _, err := NewPolicy(Rules{Allow: append(fi, fi...), AllowPrefixes: prefixes("5.0.0.0/8", "5.0.0.0/8"), Unknown: Deny, Default: Deny}); err != nil {
		t.Errorf("what is said twice in one way: %v", err)
	}
}

// drawTable draws a table of which much is near the prefixes that policies and addresses are drawn of.
func drawTable(t *rapid.T) *Table {
	var b Table
	b.v4 = drawFamily(t, edges4)
	b.v6 = drawFamily(t, edges6)
	return &Table{v4: b.v4.without(&special4), v6: b.v6.without(&special6)}
}

func drawFamily[A address[A]](t *rapid.T, edge *rapid.Generator[A]) family[A] {
	var country draft[A, code]
	var asn draft[A, uint32]
	for range rapid.IntRange(0, 6).Draw(t, "ranges") {
		first, last := edge.Draw(t, "first"), edge.Draw(t, "last")
		if !last.less(first) {
			country.add(first, last, letters(rapid.SampledFrom([]string{"FI", "RU", "SA", "BR", "??"}).Draw(t, "country")))
			asn.add(last, last, rapid.Uint32Range(0, 2).Draw(t, "asn"))
		}
	}
	return family[A]{country.done(), asn.done()}
}

func drawPolicy(t *rapid.T) *Policy {
	action := rapid.SampledFrom([]Action{Allow, Deny})
	rules := Rules{Unknown: action.Draw(t, "unknown"), Default: action.Draw(t, "default")}
	for _, text := range []string{"country:FI", "country:SA", "continent:SA", "continent:EU", "asn:1", "asn:2"} {
		s, err := model.ParseRegion(text)
		if err != nil {
			t.Fatal(err)
		}
		switch rapid.IntRange(0, 2).Draw(t, text) {
		case 1:
			rules.Allow = append(rules.Allow, s)
		case 2:
			rules.Deny = append(rules.Deny, s)
		}
	}
	for _, p := range rapid.SliceOfNDistinct(somePrefixes, 0, 6, rapid.ID).Draw(t, "prefixes") {
		if rapid.Bool().Draw(t, "deny") {
			rules.DenyPrefixes = append(rules.DenyPrefixes, p)
		} else {
			rules.AllowPrefixes = append(rules.AllowPrefixes, p)
		}
	}
	p, err := NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What the data plane is given denies just what Decide denies, in ranges that neither
// overlap nor touch.
func TestResolveAgreesWithDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, p := drawTable(t), drawPolicy(t)
		d := table.Resolve(p)
		for i, r := range d.V4 {
			if r.Last < r.First || i > 0 && uint64(r.First) <= uint64(d.V4[i-1].Last)+1 {
				t.Fatalf("%v", d.V4)
			}
		}
		for i, r := range d.V6 {
			if r.Last.Less(r.First) || i > 0 && !d.V6[i-1].Last.Next().Less(r.First) {
				t.Fatalf("%v", d.V6)
			}
		}
		for range 20 {
			a := drawAddress(t)
			denied := false
			for _, r := range d.V4 {
				denied = denied || a.Is4() && r.First <= uint32(asV4(a)) && uint32(asV4(a)) <= r.Last
			}
			for _, r := range d.V6 {
				denied = denied || a.Is6() && !a.Less(r.First) && !r.Last.Less(a)
			}
			if action, by := p.Decide(table.Lookup(a), a); (action == Deny) != denied {
				t.Fatalf("%s at %+v: %s by %s, resolved to %v", a, table.Lookup(a), action, by, d)
			}
		}
	})
}

// drawAddress draws an address near an edge of something, or any; none within ::ffff:0:0/96,
// which no packet may have.
func drawAddress(t *rapid.T) netip.Addr {
	switch rapid.IntRange(0, 4).Draw(t, "near") {
	case 0:
		return netip.AddrFrom4([4]byte(edges4.Draw(t, "edge").append(nil)))
	case 1:
		return edges6.Draw(t, "edge").addr()
	case 2:
		return netip.AddrFrom4([4]byte(v4(rapid.Uint32().Draw(t, "any")).append(nil)))
	case 3:
		return v6{rapid.Uint64Min(1).Draw(t, "high"), rapid.Uint64().Draw(t, "low")}.addr()
	}
	return someAddress(t)
}
