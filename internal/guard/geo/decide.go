package geo

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Reason is the rule that decided: a region as it is written, "cidr:192.0.2.0/24",
// "unknown", "special-purpose" or "default".
type Reason string

// rule is what decided, before anybody wants to read it.
type rule uint8

const (
	rulePrefix rule = iota
	ruleASN
	ruleCountry
	ruleContinent
	ruleUnknown
	ruleSpecial
	ruleDefault
)

// decide judges an address of which all is looked up; prefix is the place of the narrowest
// prefix around it, from 1.
func (p *Policy) decide(c code, asn, prefix uint32) (Action, rule) {
	if prefix != 0 {
		return p.prefixes[prefix-1].action, rulePrefix
	}
	if c == special {
		return Allow, ruleSpecial
	}
	if a := p.asn[asn]; a != 0 {
		return a, ruleASN
	}
	if c == none {
		return p.unknown, ruleUnknown
	}
	if a := p.country[c]; a != 0 {
		return a, ruleCountry
	}
	if a := p.continent[continentOf[c]]; a != 0 {
		return a, ruleContinent
	}
	return p.otherwise, ruleDefault
}

// Decide judges an address that is at a place, as Lookup returns it, and says why.
func (p *Policy) Decide(at Place, a netip.Addr) (Action, Reason) {
	a = a.Unmap()
	var prefix uint32
	switch {
	case a.Is4():
		prefix = p.prefix4.at(asV4(a))
	case a.Is6():
		prefix = p.prefix6.at(asV6(a))
	}
	c := letters(at.Country)
	switch {
	case at.Special:
		c = special
	case !c.known():
		c = none
	}
	action, by := p.decide(c, at.ASN, prefix)
	switch by {
	case rulePrefix:
		return action, Reason("cidr:" + p.prefixes[prefix-1].String())
	case ruleASN:
		return action, Reason(fmt.Sprintf("asn:%d", at.ASN))
	case ruleCountry:
		return action, Reason("country:" + at.Country)
	case ruleContinent:
		return action, Reason("continent:" + c.continent())
	case ruleUnknown:
		return action, "unknown"
	case ruleSpecial:
		return action, "special-purpose"
	}
	return action, "default"
}

// Denied are the addresses that a policy denies: ranges in rising order, with addresses
// between them that it allows.
type Denied struct {
	V4 []model.AddressRange
	V6 []Range6
}

// Resolve returns the addresses of the table that Decide denies.
func (t *Table) Resolve(p *Policy) Denied {
	return Denied{denied(p, &t.v4, &p.prefix4, v4.to), denied(p, &t.v6, &p.prefix6, v6.to)}
}

func denied[A address[A], R any](p *Policy, f *family[A], prefixes *layer[A, uint32], to func(A, A) R) (list []R) {
	var from, before A
	open := false // a range from there to before
	cross(&f.country, &f.asn, prefixes, func(first, last A, c code, asn, prefix uint32) bool {
		switch action, _ := p.decide(c, asn, prefix); {
		case action == Deny && !open:
			from, open = first, true
		case action != Deny && open:
			list, open = append(list, to(from, before)), false
		}
		before = last
		return true
	})
	if open {
		list = append(list, to(from, before))
	}
	return list
}
