package gateway

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/chain"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// The functions of the protection.
const (
	allowlist = "allowlist"
	blocklist = "blocklist"
	ports     = "ports"
	honeypot  = "honeypot"
	geofence  = "geofence"
)

// protectionFunctions are those that a configuration has, in their order. The first is
// there for all others.
func protectionFunctions(c *config.Config) (names []string) {
	p := &c.Protection
	if !p.Given() {
		return nil
	}
	names = []string{allowlist}
	for _, f := range []struct {
		name string
		used bool
	}{
		{blocklist, len(p.Blocklist) > 0},
		{ports, !p.Ignored.Empty() || !p.Monitored.Empty() || !p.Honeypot.Ports.Empty()},
		{honeypot, !p.Honeypot.Ports.Empty()},
		{geofence, len(p.Geofences) > 0},
	} {
		if f.used {
			names = append(names, f.name)
		}
	}
	return names
}

func (n named) protection(v *view) (steps []chain.Step) {
	functions := protectionFunctions(v.config)
	if len(functions) == 0 {
		return nil
	}
	var remote chain.Remote
	remote.In.Allowed, remote.Out.Allowed = n.unions(v.config.Protection.Allowlist, sparedRanges(v, ownRanges(v)))
	remote.In.Blocked, remote.Out.Blocked = n.unions(v.config.Protection.Blocklist, model.Ranges{})
	remote.In.Fenced, remote.Out.Fenced = v.places.fences[model.In].denied, v.places.fences[model.Out].denied
	p := &v.config.Protection
	made := map[string]chain.Function{
		allowlist: chain.Allowlist{Remote: remote}, blocklist: chain.Blocklist{}, honeypot: chain.Honeypot{}, geofence: chain.Geofence{},
		ports: chain.Ports{Ignored: p.Ignored, Trapped: p.Honeypot.Ports, Monitored: p.Monitored},
	}
	for _, f := range functions {
		name := countName(config.ProtectionName, f)
		steps = append(steps, chain.Step{Name: name, Number: v.counts[name], Function: made[f]})
	}
	return steps
}

// ownRanges are the gateway's own addresses, which are remote ends where a private host
// reaches another by its public address.
func ownRanges(v *view) (ranges model.Ranges) {
	for _, a := range slices.Concat(v.config.Pool.Addresses, v.outbound, v.static.addresses, v.config.OneToOneAddresses()) {
		ranges.Add(netip.PrefixFrom(a, a.BitLen()))
	}
	return ranges
}

// sparedRanges are ranges, and those that are asked nothing whatever the lists have: without
// them the gateway, or who looks after it, would be cut off.
func sparedRanges(v *view, ranges model.Ranges) model.Ranges {
	for _, p := range v.config.NeverBan {
		ranges.Add(p)
	}
	for _, a := range v.hops {
		ranges.Add(netip.PrefixFrom(a, a.BitLen()))
	}
	for _, s := range v.config.DNS.Upstream {
		ranges.Add(netip.PrefixFrom(s.Addr(), s.Addr().BitLen()))
	}
	return ranges
}

// sparedBy says why an address is asked nothing, "" where it is.
func (n named) sparedBy(v *view, d model.Direction, a netip.Addr) string {
	p := netip.PrefixFrom(a, a.BitLen())
	if entry := n.onList(v.config.Protection.Allowlist, d, p); entry != "" {
		return entry
	}
	spared := sparedRanges(v, model.Ranges{})
	if spared.Set().Contains(a) {
		return "never_ban, a next hop, or an upstream name server"
	}
	return ""
}

// unions are the addresses of a list, and others, for flows from outside and from inside.
// It is one set where the directions have the same.
func (n named) unions(list []config.Listed, others model.Ranges) (in, out *model.AddressSet) {
	in = n.union(list, others, func(l config.Listed) bool { return l.Direction != model.Out })
	if slices.ContainsFunc(list, func(l config.Listed) bool { return l.Direction != model.AnyDirection }) {
		return in, n.union(list, others, func(l config.Listed) bool { return l.Direction != model.In })
	}
	return in, in
}

// union is one set of the addresses of a list's entries that are wanted, and of others.
func (n named) union(list []config.Listed, others model.Ranges, wanted func(config.Listed) bool) *model.AddressSet {
	ranges := model.Ranges{V4: slices.Clone(others.V4), V6: slices.Clone(others.V6)}
	for _, l := range list {
		if wanted(l) {
			ranges.AddSet(n.addresses(l))
		}
	}
	return ranges.Set()
}

func (n named) addresses(l config.Listed) *model.AddressSet {
	switch {
	case l.Set != "":
		return n.sets[l.Set]
	case l.List != "":
		return n.lists.Of(l.List)
	}
	var ranges model.Ranges
	ranges.Add(l.Remote)
	return ranges.Set()
}

// onList returns the first entry of a list that has an address of the prefix, for flows
// of a direction, and "" where none has.
func (n named) onList(list []config.Listed, d model.Direction, p netip.Prefix) string {
	i := slices.IndexFunc(list, func(l config.Listed) bool {
		return (l.Direction == model.AnyDirection || d == model.AnyDirection || l.Direction == d) && n.addresses(l).MeetsPrefix(p)
	})
	switch {
	case i < 0:
		return ""
	case list[i].Set != "":
		return "set " + list[i].Set
	case list[i].List != "":
		return "list " + list[i].List
	}
	return list[i].Remote.String()
}

// allowed returns what says why a prefix must not be banned: the allowlist is asked
// before bans.
func (n named) allowed(c *config.Config) func(netip.Prefix) error {
	list := c.Protection.Allowlist
	all := n.union(list, model.Ranges{}, func(config.Listed) bool { return true })
	return func(p netip.Prefix) error {
		if !all.MeetsPrefix(p) {
			return nil
		}
		return fmt.Errorf("the allowlist has it: %s", n.onList(list, model.AnyDirection, p))
	}
}
