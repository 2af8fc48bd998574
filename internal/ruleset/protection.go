package ruleset

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// The functions of the protection.
const (
	Allowlist = "allowlist"
	Blocklist = "blocklist"
	Ports     = "ports"
	Honeypot  = "honeypot"
	Geofence  = "geofence"
)

// ProtectionFunctions are those that a configuration has, in their order. The first is
// there for all others.
func ProtectionFunctions(c *config.Config) (names []string) {
	p := &c.Protection
	if !p.Given() {
		return nil
	}
	names = []string{Allowlist}
	for _, f := range []struct {
		name string
		used bool
	}{
		{Blocklist, len(p.Blocklist) > 0},
		{Ports, !p.Ignored.Empty() || !p.Monitored.Empty() || !p.Honeypot.Ports.Empty()},
		{Honeypot, !p.Honeypot.Ports.Empty()},
		{Geofence, len(p.Geofences) > 0},
	} {
		if f.used {
			names = append(names, f.name)
		}
	}
	return names
}

func (n Named) protection(r Rules) (steps []nf.Step) {
	functions := ProtectionFunctions(r.Config)
	if len(functions) == 0 {
		return nil
	}
	var remote nf.Remote
	remote.In.Allowed, remote.Out.Allowed = n.unions(r.Config.Protection.Allowlist, exemptRanges(r.Config, r.Hops, rangesOf(r.Own)))
	remote.In.Blocked, remote.Out.Blocked = n.unions(r.Config.Protection.Blocklist, model.Ranges{})
	remote.In.Fenced, remote.Out.Fenced = r.Denied(model.In), r.Denied(model.Out)
	p := &r.Config.Protection
	made := map[string]nf.Function{
		Allowlist: nf.Allowlist{Remote: remote}, Blocklist: nf.Blocklist{}, Honeypot: nf.Honeypot{}, Geofence: nf.Geofence{},
		Ports: nf.Ports{Ignored: p.Ignored, Honeypot: p.Honeypot.Ports, Monitored: p.Monitored},
	}
	for _, f := range functions {
		name := Name(model.ProtectionName, f)
		steps = append(steps, nf.Step{Name: name, Number: r.Numbers[name], Function: made[f]})
	}
	return steps
}

func rangesOf(list []netip.Addr) (ranges model.Ranges) {
	for _, a := range list {
		ranges.Add(netip.PrefixFrom(a, a.BitLen()))
	}
	return ranges
}

// exemptRanges are ranges, and those that are asked nothing whatever the lists have: without
// them the gateway, or who looks after it, would be cut off.
func exemptRanges(c *config.Config, hops []netip.Addr, ranges model.Ranges) model.Ranges {
	for _, p := range c.IgnoreIP {
		ranges.Add(p)
	}
	for _, a := range hops {
		ranges.Add(netip.PrefixFrom(a, a.BitLen()))
	}
	for _, s := range c.DNS.Upstream {
		ranges.Add(netip.PrefixFrom(s.Addr(), s.Addr().BitLen()))
	}
	return ranges
}

// ExemptBy says why an address is asked nothing, "" where it is.
func (n Named) ExemptBy(c *config.Config, hops []netip.Addr, d model.Direction, a netip.Addr) string {
	p := netip.PrefixFrom(a, a.BitLen())
	if entry := n.OnList(c.Protection.Allowlist, d, p); entry != "" {
		return entry
	}
	exempt := exemptRanges(c, hops, model.Ranges{})
	if exempt.Set().Contains(a) {
		return "ignoreip, a next hop, or an upstream name server"
	}
	return ""
}

// unions are the addresses of a list, and others, for flows from outside and from inside.
// It is one set where the directions have the same.
func (n Named) unions(list []settings.Listed, others model.Ranges) (in, out *model.AddressSet) {
	in = n.Union(list, others, func(l settings.Listed) bool { return l.Direction != model.Out })
	if slices.ContainsFunc(list, func(l settings.Listed) bool { return l.Direction != model.AnyDirection }) {
		return in, n.Union(list, others, func(l settings.Listed) bool { return l.Direction != model.In })
	}
	return in, in
}

// Union is one set of the addresses of a list's entries that are wanted, and of others.
func (n Named) Union(list []settings.Listed, others model.Ranges, wanted func(settings.Listed) bool) *model.AddressSet {
	ranges := model.Ranges{V4: slices.Clone(others.V4), V6: slices.Clone(others.V6)}
	for _, l := range list {
		if wanted(l) {
			ranges.AddSet(n.addresses(l))
		}
	}
	return ranges.Set()
}

func (n Named) addresses(l settings.Listed) *model.AddressSet {
	switch {
	case l.Set != "":
		return n.sets[l.Set]
	case l.List != "":
		return n.list(l.List)
	}
	var ranges model.Ranges
	ranges.Add(l.Remote)
	return ranges.Set()
}

// OnList returns the first entry of a list that has an address of the prefix, for flows
// of a direction, and "" where none has.
func (n Named) OnList(list []settings.Listed, d model.Direction, p netip.Prefix) string {
	i := slices.IndexFunc(list, func(l settings.Listed) bool {
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

// Allowed returns what says why a prefix must not be banned: the allowlist is asked
// before bans.
func (n Named) Allowed(c *config.Config) func(netip.Prefix) error {
	list := c.Protection.Allowlist
	all := n.Union(list, model.Ranges{}, func(settings.Listed) bool { return true })
	return func(p netip.Prefix) error {
		if !all.MeetsPrefix(p) {
			return nil
		}
		return fmt.Errorf("the allowlist has it: %s", n.OnList(list, model.AnyDirection, p))
	}
}

// list are the addresses of one. There are none where nothing was ever fetched, as in a check of a file.
func (n Named) list(name string) *model.AddressSet {
	if set := n.lists[name]; set != nil {
		return set
	}
	return &model.AddressSet{}
}
