package gateway

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/protect/ban"
)

// guard says who must not be banned, and whom no ban drops that was there before.
type guard struct {
	allowed allowed
	own     *model.AddressSet // IPv4 of reasons
	reasons map[netip.Prefix]string
	spared  *ban.Spared
}

// allowed is the allowlist of a view. To make it takes long where lists are large.
type allowed struct {
	view *view
	why  func(netip.Prefix) error
	in   *model.AddressSet // for flows from outside: bans come after it
	in6  []netip.Prefix    // of its IPv6 addresses
}

func newAllowed(v *view) allowed {
	n := namedIn(v.config, v.lists)
	in := n.union(v.config.Protection.Allowlist, model.Ranges{}, func(l config.Listed) bool { return l.Direction != model.Out })
	return allowed{v, n.allowed(v.config), in, in.Prefixes6()}
}

// neverBanned6 are for what a link needs (RFC 4291, RFC 4861), or no remote end's.
var neverBanned6 = map[string]string{
	"fe80::/10": "it is link-local, as neighbour discovery is", "ff00::/8": "it is multicast, as neighbour discovery is",
	"::/127": "no packet of others has it", "::ffff:0:0/96": "it is IPv4: ban the IPv4 address",
}

// newGuard looks at what there is now; without those whom it names the gateway would be
// cut off. before is the guard until now.
func (g *Gateway) newGuard(before *guard) (*guard, error) {
	v := g.view.Load()
	n := &guard{reasons: map[netip.Prefix]string{}}
	if before != nil && before.allowed.view == v {
		n.allowed = before.allowed
	} else {
		n.allowed = newAllowed(v)
	}
	if err := n.findReasons(g, v); err != nil {
		return nil, err
	}
	var ranges []model.AddressRange
	var v6 []netip.Prefix
	for p := range n.reasons {
		if p.Addr().Is4() {
			ranges = append(ranges, model.RangeOf(p))
		} else {
			v6 = append(v6, p)
		}
	}
	n.own = model.NewAddressSet(ranges)
	n.spared = ban.NewSpared([]*model.AddressSet{n.own, n.allowed.in}, append(v6, n.allowed.in6...))
	return n, nil
}

func (n *guard) findReasons(g *Gateway, v *view) error {
	single := func(a netip.Addr, why string) {
		a = a.Unmap().WithZone("")
		n.reasons[netip.PrefixFrom(a, a.BitLen())] = why
	}
	c := v.config
	for p, why := range neverBanned6 {
		n.reasons[netip.MustParsePrefix(p)] = why
	}
	for _, p := range c.NeverBan {
		n.reasons[p] = "never_ban has it"
	}
	for _, s := range c.DNS.Upstream {
		single(s.Addr(), "it is an upstream name server")
	}
	for _, a := range v.outbound {
		single(a, "it is an outbound address of the gateway")
	}
	for _, a := range c.Pool.Addresses {
		single(a, "it is an address of the pool")
	}
	for _, a := range v.static.addresses {
		single(a, "dnat answers for it")
	}
	for _, a := range c.OneToOneAddresses() {
		single(a, "it is a private host's public address")
	}
	for _, h := range c.Hosts {
		single(h.Address, "it is a private host's: a ban is of the remote end")
	}
	if own := g.own.Load(); own != nil {
		for a := range *own {
			single(a, "it is the gateway's own address")
		}
	}
	hops, err := g.hops.now()
	for _, a := range hops {
		single(a, "it is a next hop of the gateway")
	}
	return err
}

// why says why a prefix must not be banned.
func (n *guard) why(p netip.Prefix) error {
	if err := n.allowed.why(p); err != nil || p.Addr().Is4() && !n.own.Meets(model.RangeOf(p)) {
		return err
	}
	for kept, why := range n.reasons {
		if kept.Overlaps(p) {
			return fmt.Errorf("%s: %s", kept, why)
		}
	}
	return nil
}
