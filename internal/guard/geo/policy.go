package geo

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Action is what becomes of a packet. The zero value is none: a policy says each.
type Action uint8

// What a policy can say.
const (
	Allow Action = iota + 1
	Deny
)

// String returns "allow" or "deny".
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return fmt.Sprintf("action-%d", uint8(a))
}

// Most of each kind of a policy's rules, allow and deny together.
const (
	MostRegions  = 1 << 16
	MostPrefixes = 1 << 16
)

// Rules are what a policy is made of.
type Rules struct {
	Allow, Deny                 []model.Region
	AllowPrefixes, DenyPrefixes []netip.Prefix // masked
	Unknown                     Action         // for addresses whose country nobody knows
	Default                     Action         // for those that no rule names
}

// Policy judges addresses. The rule that says most about an address decides: the narrowest
// prefix around it, else its ASN, else its country, else its continent, else that of
// unknown addresses, else the default. Special-purpose addresses are nowhere: only
// prefixes name them, and all others are allowed. A Policy does not change.
type Policy struct {
	prefix4  layer[v4, uint32] // places in prefixes, from 1
	prefix6  layer[v6, uint32]
	prefixes []prefixRule

	asn       map[uint32]Action
	country   [special]Action
	continent [8]Action // by place in model.Continents, from 1

	unknown, otherwise Action
}

type prefixRule struct {
	netip.Prefix
	action Action
}

// NewPolicy checks rules. None may both allow and deny, and no prefix may have bits beyond
// its length.
func NewPolicy(rules Rules) (*Policy, error) {
	p := &Policy{asn: map[uint32]Action{}, unknown: rules.Unknown, otherwise: rules.Default}
	for _, a := range []struct {
		name   string
		action Action
	}{{"unknown", rules.Unknown}, {"default", rules.Default}} {
		if a.action != Allow && a.action != Deny {
			return nil, fmt.Errorf("%s: say allow or deny", a.name)
		}
	}
	if n := len(rules.Allow) + len(rules.Deny); n > MostRegions {
		return nil, fmt.Errorf("%d countries, continents and ASNs: at most %d", n, MostRegions)
	}
	for _, r := range rules.Allow {
		if err := p.region(r, Allow); err != nil {
			return nil, err
		}
	}
	for _, r := range rules.Deny {
		if err := p.region(r, Deny); err != nil {
			return nil, err
		}
	}
	if err := p.addPrefixes(rules.AllowPrefixes, rules.DenyPrefixes); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Policy) region(r model.Region, action Action) error {
	var old Action
	switch {
	case r.ASN() != 0:
		old, p.asn[r.ASN()] = p.asn[r.ASN()], action
	case r.Country() != "":
		c := letters(r.Country())
		old, p.country[c] = p.country[c], action
	case r.Continent() != "":
		i := slices.IndexFunc(model.Continents, func(c model.Continent) bool { return c.Code == r.Continent() })
		old, p.continent[i+1] = p.continent[i+1], action
	default:
		return model.ErrNoRegion
	}
	if old != 0 && old != action {
		return fmt.Errorf("%s is both allowed and denied", r)
	}
	return nil
}

func (p *Policy) addPrefixes(allow, deny []netip.Prefix) error {
	if n := len(allow) + len(deny); n > MostPrefixes {
		return fmt.Errorf("%d prefixes: at most %d", n, MostPrefixes)
	}
	seen := map[netip.Prefix]Action{}
	var list []netip.Prefix
	add := func(from []netip.Prefix, action Action) error {
		for _, q := range from {
			switch {
			case !q.IsValid():
				return errors.New("want an address prefix as 192.0.2.0/24")
			case q.Addr().Is4In6():
				return fmt.Errorf("%s: write the IPv4 prefix", q)
			case q != q.Masked():
				return fmt.Errorf("%s is no prefix boundary, the prefix around it is %s", q.Addr(), q.Masked())
			case seen[q] == action:
				continue
			case seen[q] != 0:
				return fmt.Errorf("%s is both allowed and denied", q)
			}
			seen[q] = action
			list = append(list, q)
			p.prefixes = append(p.prefixes, prefixRule{q, action})
		}
		return nil
	}
	if err := add(allow, Allow); err != nil {
		return err
	}
	if err := add(deny, Deny); err != nil {
		return err
	}
	p.prefix4, p.prefix6 = flatten(list, netip.Addr.Is4, rangeV4), flatten(list, netip.Addr.Is6, rangeV6)
	return nil
}
