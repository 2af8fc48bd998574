package geo

import (
	"net/netip"
	"slices"
)

// Place is where an address is.
type Place struct {
	Country   string // ISO 3166-1 alpha-2, XK or one of AN, AP, CS, EU, SU; "" where nobody knows
	Continent string // AF, AN, AS, EU, NA, OC or SA; "" with Country
	ASN       uint32 // the autonomous system that announces it; 0 where nobody knows
	Special   bool   // for a special purpose, as private and multicast addresses: nowhere
}

// Unknown reports whether the address is somewhere, but nobody knows in which country.
func (p Place) Unknown() bool { return p.Country == "" && !p.Special }

// Table is where all addresses are. It does not change. Make one with a Builder, or Load it.
type Table struct {
	v4      family[v4]
	v6      family[v6]
	sources []Source
}

// family is what is known of IPv4 or of IPv6 addresses.
type family[A address[A]] struct {
	country layer[A, code]
	asn     layer[A, uint32]
}

func placeOf(c code, asn uint32) Place {
	if c == special {
		return Place{Special: true}
	}
	return Place{Country: c.String(), Continent: c.continent(), ASN: asn}
}

func (f *family[A]) place(a A) Place { return placeOf(f.country.at(a), f.asn.at(a)) }

// Lookup returns where an address is. An IPv4 address within IPv6 (::ffff:192.0.2.1) is
// that IPv4 address; the zero address is unknown.
func (t *Table) Lookup(a netip.Addr) Place {
	switch a = a.Unmap(); {
	case a.Is4():
		return t.v4.place(asV4(a))
	case a.Is6():
		return t.v6.place(asV6(a))
	}
	return Place{}
}

// Has reports whether the table has the country of any IPv4 address, and its ASN. Rules
// about what it has not would say nothing.
func (t *Table) Has() (countries, asns bool) { return t.v4.has() }

// Has6 is as Has, of IPv6 addresses.
func (t *Table) Has6() (countries, asns bool) { return t.v6.has() }

func (f *family[A]) has() (countries, asns bool) {
	return slices.ContainsFunc(f.country.values, code.known), slices.ContainsFunc(f.asn.values, func(n uint32) bool { return n != 0 })
}

// Sources returns what the table was made of.
func (t *Table) Sources() []Source { return slices.Clone(t.sources) }
