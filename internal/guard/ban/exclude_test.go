package ban

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

// somePrefix is one of sixteen addresses, or of those around them.
func somePrefix(t *rapid.T, family string) netip.Prefix {
	last, wider := byte(rapid.IntRange(0, 15).Draw(t, "last")), rapid.IntRange(0, 5).Draw(t, "wider")
	if family == "IPv4" {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, last}), 32-wider).Masked()
	}
	a := netip.MustParseAddr("2001:db8::").As16()
	a[15] = last
	return netip.PrefixFrom(netip.AddrFrom16(a), 128-wider).Masked()
}

// table is what a kernel has that knows only the narrowest prefix: whether it drops.
func (c Exclusions) table(l *List) map[netip.Prefix]bool {
	made := map[netip.Prefix]bool{}
	for _, b := range l.All() {
		if !c.Whole[b.Prefix] {
			made[b.Prefix] = true
		}
	}
	for p := range c.Prefixes {
		made[p] = false
	}
	return made
}

func drops(table map[netip.Prefix]bool, a netip.Addr) bool {
	for bits := a.BitLen(); bits >= 0; bits-- {
		if dropped, known := table[netip.PrefixFrom(a, bits).Masked()]; known {
			return dropped
		}
	}
	return false
}

// An address is dropped if it is banned and not exempt, whatever lies in or around what;
// and the changes lead from one table to the next.
func TestNoBanDropsWhoIsExempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SampledFrom([]string{"IPv4", "IPv6"}).Draw(t, "family")
		prefix := rapid.Custom(func(t *rapid.T) netip.Prefix { return somePrefix(t, family) })
		var l List
		for _, p := range rapid.SliceOfN(prefix, 0, 6).Draw(t, "bans") {
			l.Put([]Ban{{Prefix: p}})
		}
		exempt := func() (*ExemptSet, []netip.Prefix) {
			list := rapid.SliceOfN(prefix, 0, 6).Draw(t, "exempt")
			var ranges [2]model.Ranges
			for i, p := range list {
				ranges[i%2].Add(p)
			}
			return NewExemptSet(ranges[0].Set(), ranges[1].Set()), list
		}
		before, _ := exempt()
		after, list := exempt()
		old, next := l.Exclude(before), l.Exclude(after)
		table := next.table(&l)
		for i := range 32 {
			a := netip.MustParseAddr("203.0.112.248")
			if family == "IPv6" {
				a = netip.MustParseAddr("2001:db7:ffff:ffff:ffff:ffff:ffff:fff8")
			}
			for range i {
				a = a.Next()
			}
			_, banned := l.Of(a)
			want := banned && !slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
			if drops(table, a) != want {
				t.Fatalf("%s is dropped: %t; by %v and %v", a, !want, l.All(), list)
			}
		}
		begin, end, open, closed := old.Changes(next)
		changed := old.table(&l)
		for _, p := range slices.Concat(end, closed) {
			delete(changed, p)
		}
		for _, p := range slices.Concat(begin, closed) {
			if l.Has(p) && !next.Whole[p] {
				changed[p] = true
			}
		}
		for p := range next.Prefixes {
			if slices.Contains(open, p) || slices.Contains(end, p) {
				changed[p] = false
			}
		}
		if !maps.Equal(changed, table) {
			t.Fatalf("the changes made %v, want %v", changed, table)
		}
		if before.Same(after) && !maps.Equal(old.table(&l), table) {
			t.Fatal("what is the same exempts others")
		}
	})
}

// The whole of IPv4, and its ends, are prefixes as any other.
func TestExemptAtTheEdges(t *testing.T) {
	all := model.NewAddressSet([]model.AddressRange{{First: 1, Last: 1<<32 - 1}})
	s := NewExemptSet(all)
	excluded := s.Within(netip.MustParsePrefix("0.0.0.0/0"), MostExcluded)
	if len(excluded) != 32 || excluded[0] != netip.MustParsePrefix("0.0.0.1/32") || excluded[31] != netip.MustParsePrefix("128.0.0.0/1") {
		t.Errorf("%v", excluded)
	}
	if whole := s.Within(netip.MustParsePrefix("255.255.255.255/32"), MostExcluded); len(whole) != 1 || whole[0] != netip.MustParsePrefix("255.255.255.255/32") {
		t.Errorf("%v", whole)
	}
}

// A ban under which more is exempt than a table holds drops nobody.
func TestBanWithTooManyExclusionsIsExempt(t *testing.T) {
	var ranges []model.AddressRange
	for i := range uint32(MostExcluded + 1) {
		ranges = append(ranges, model.AddressRange{First: 2 * i, Last: 2 * i})
	}
	var l List
	wide, narrow := netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("0.0.0.0/30")
	l.Put([]Ban{{Prefix: wide}, {Prefix: narrow}})
	c := l.Exclude(NewExemptSet(model.NewAddressSet(ranges)))
	if !c.Whole[wide] || !slices.Equal(c.Over, []netip.Prefix{wide}) || !c.Part[narrow] || len(c.Prefixes) != 2 {
		t.Errorf("%v and %v are over, with %d excluded", c.Over, c.Whole, len(c.Prefixes))
	}
}
