package geo

import (
	"cmp"
	"net/netip"
	"slices"
)

// specialPurpose are the addresses that are in no country because they are nobody's on
// the Internet: IANA's special-purpose registries (RFC 6890) where those say that an
// address is not globally reachable, multicast (RFC 5771, RFC 4291), and what once was
// local (RFC 3879) or no locator (RFC 4843).
//
// Addresses that stand for an IPv4 host anywhere are not among them: 6to4's 2002::/16,
// Teredo's 2001::/32, NAT64's 64:ff9b::/96 and the relays' 192.88.99.0/24. Who is denied by
// its country would else come back through a tunnel. They are what the sources say of
// them, most often unknown.
var specialPurpose = []string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",

	"::/128", "::1/128", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001:2::/48", "2001:10::/28",
	"2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
}

var special4, special6 = func() (layer[v4, uint32], layer[v6, uint32]) {
	var list []netip.Prefix
	for _, text := range specialPurpose {
		list = append(list, netip.MustParsePrefix(text))
	}
	return flatten(list, netip.Addr.Is4, rangeV4), flatten(list, netip.Addr.Is6, rangeV6)
}()

// flatten makes a layer of those prefixes that belong, masked and each there once. It
// says of an address the place of the narrowest prefix around it in the list, from 1.
func flatten[A address[A]](list []netip.Prefix, belongs func(netip.Addr) bool, edges func(netip.Prefix) (A, A)) layer[A, uint32] {
	type span struct {
		first, last A
		bits        int
		place       uint32
	}
	var spans []span
	for i, p := range list {
		if belongs(p.Addr()) {
			first, last := edges(p)
			spans = append(spans, span{first, last, p.Bits(), uint32(i + 1)})
		}
	}
	// A prefix comes after those around it.
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.first.less(b.first):
			return -1
		case b.first.less(a.first):
			return 1
		}
		return cmp.Compare(a.bits, b.bits)
	})
	var flat draft[A, uint32]
	var around []span // those that are not over yet, the widest first
	fill := func(last A) {
		s := around[len(around)-1]
		if s.first.less(flat.free) {
			s.first = flat.free
		}
		if !flat.full && !last.less(s.first) {
			flat.add(s.first, last, s.place)
		}
	}
	for _, s := range spans {
		for len(around) > 0 && around[len(around)-1].last.less(s.first) {
			fill(around[len(around)-1].last)
			around = around[:len(around)-1]
		}
		if len(around) > 0 && around[len(around)-1].first.less(s.first) {
			fill(s.first.prev())
		}
		around = append(around, s)
	}
	for ; len(around) > 0; around = around[:len(around)-1] {
		fill(around[len(around)-1].last)
	}
	return flat.done()
}
