package ban

import (
	"fmt"
	"net/netip"

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
	In6 []netip.Prefix           // of its IPv6 addresses
}

// guard says of a prefix whether it must not be banned.
type guard struct {
	Exempt
	own    *model.AddressSet // IPv4 of the reasons
	spared *Spared
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
	var ranges []model.AddressRange
	var v6 []netip.Prefix
	for p := range n.Reasons {
		if p.Addr().Is4() {
			ranges = append(ranges, model.RangeOf(p))
		} else {
			v6 = append(v6, p)
		}
	}
	n.own = model.NewAddressSet(ranges)
	n.spared = NewSpared([]*model.AddressSet{n.own, n.Allowed.In}, append(v6, n.Allowed.In6...))
	return n, nil
}

// why says why a prefix must not be banned.
func (n *guard) why(p netip.Prefix) error {
	if err := n.Allowed.Why(p); err != nil || p.Addr().Is4() && !n.own.Meets(model.RangeOf(p)) {
		return err
	}
	for kept, why := range n.Reasons {
		if kept.Overlaps(p) {
			return fmt.Errorf("%s: %s", kept, why)
		}
	}
	return nil
}

// Of tells the ban of an address that lasts longest, and why it does not drop it, if so.
func (s *Service) Of(a netip.Addr) (longest Ban, banned bool, spared error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if longest, banned = s.list.Of(a); banned && s.guard != nil {
		spared = s.guard.why(netip.PrefixFrom(a, a.BitLen()))
	}
	return longest, banned, spared
}
