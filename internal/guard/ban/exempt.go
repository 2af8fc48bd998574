package ban

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// Exempt is who must not be banned, and whom no ban drops that was there before: without them the gateway, or who looks
// after it, would be cut off.
type Exempt struct {
	Allowed Allowed
	Reasons map[netip.Prefix]string // why, for people
}

// Allowed is the allowlist, which is asked before bans. To make it takes long where lists are large.
type Allowed struct {
	Why func(netip.Prefix) error // why a prefix must not be banned
	In  *model.AddressSet        // for flows from outside: bans come after it
}

// Around is what a gateway has about it.
type Around struct {
	Config                    *config.Config
	Outbound, Dnat, Own, Hops []netip.Addr // addresses: outbound ones, those that dnat answers for, the machine's, next hops
}

// ExemptOf is who must not be banned: the allowlist, and whom the gateway needs or is.
func ExemptOf(allowed Allowed, around Around) Exempt {
	c, reasons := around.Config, map[netip.Prefix]string{}
	each := func(why string, addresses ...netip.Addr) {
		for _, a := range addresses {
			a = a.Unmap().WithZone("")
			reasons[netip.PrefixFrom(a, a.BitLen())] = why
		}
	}
	for _, p := range c.IgnoreIP {
		reasons[p] = "ignoreip has it"
	}
	for _, s := range c.DNS.Upstream {
		each("it is an upstream name server", s.Addr())
	}
	each("it is an outbound address of the gateway", around.Outbound...)
	each("it is an address of the pool", c.Pool.Addresses...)
	each("dnat answers for it", around.Dnat...)
	each("it is a private host's public address", c.Hosts.OneToOneAddresses()...)
	each("it is a web address", c.Web.Addresses...)
	for _, h := range c.Hosts {
		each("it is a private host's: a ban is of the remote end", h.Address)
	}
	for _, d := range c.Dynamic {
		for _, p := range d.Prefixes {
			reasons[p] = "private hosts are there: a ban is of the remote end"
		}
	}
	each("it is the gateway's own address", around.Own...)
	each("it is a next hop of the gateway", around.Hops...)
	return Exempt{Allowed: allowed, Reasons: reasons}
}

// guard says of a prefix whether it must not be banned.
type guard struct {
	Exempt
	own    *model.AddressSet // those of the reasons
	exempt *ExemptSet
}

// never6 are for what a link needs (RFC 4291, RFC 4861), or no remote end's.
var never6 = map[string]string{
	"fe80::/10": "it is link-local, as neighbour discovery is", "ff00::/8": "it is multicast, as neighbour discovery is",
	"::/127": "no packet of others has it", "::ffff:0:0/96": "it is IPv4: ban the IPv4 address",
}

// newGuard looks at what there is now.
func (s *Service) newGuard() (*guard, error) {
	e, err := s.Exempt()
	if err != nil {
		return nil, err
	}
	n := &guard{Exempt: e}
	for p, why := range never6 {
		n.Reasons[netip.MustParsePrefix(p)] = why
	}
	var reasons model.Ranges
	for p := range n.Reasons {
		reasons.Add(p)
	}
	n.own = reasons.Set()
	n.exempt = NewExemptSet(n.own, n.Allowed.In)
	return n, nil
}

// why says why a prefix must not be banned.
func (n *guard) why(p netip.Prefix) error {
	if err := n.Allowed.Why(p); err != nil || !n.own.MeetsPrefix(p) {
		return err
	}
	for kept, why := range n.Reasons {
		if kept.Overlaps(p) {
			return fmt.Errorf("%s: %s", kept, why)
		}
	}
	return nil
}

// Why says what bans an address.
func (s *Service) Why(a netip.Addr) string {
	b, known, _ := s.of(a)
	if !known {
		return "the kernel has it"
	}
	why := fmt.Sprintf("%s since %s, ", b.Prefix, b.Since.UTC().Format(time.DateTime))
	if b.Until.IsZero() {
		why += "for ever"
	} else {
		why += "until " + b.Until.UTC().Format(time.DateTime) + " UTC"
	}
	if b.Reason != "" {
		why += ": " + b.Reason
	}
	return why
}

// WhyNot says that an address is banned by nothing, or exempt by what bans it.
func (s *Service) WhyNot(a netip.Addr) string {
	if b, _, exempt := s.of(a); exempt != nil {
		return fmt.Sprintf("%s is banned, and %s is exempt: %v", b.Prefix, a, exempt)
	}
	return fmt.Sprintf("%s is not banned", a)
}

// of is the ban of an address that lasts longest, and why the address is exempt even so.
func (s *Service) of(a netip.Addr) (longest Ban, banned bool, exempt error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if longest, banned = s.list.Of(a); banned && s.guard != nil {
		exempt = s.guard.why(netip.PrefixFrom(a, a.BitLen()))
	}
	return longest, banned, exempt
}
