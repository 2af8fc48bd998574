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
	geofence  = "geofence"
)

// protectionFunctions are those that a configuration has, in their order. The first is
// there for all others.
func protectionFunctions(c *config.Config) (names []string) {
	if !c.Protection.Given() {
		return nil
	}
	names = []string{allowlist}
	if len(c.Protection.Blocklist) > 0 {
		names = append(names, blocklist)
	}
	if len(c.Protection.Geofences) > 0 {
		names = append(names, geofence)
	}
	return names
}

func (n named) protection(c *config.Config, numbers counts, p places) (steps []chain.Step) {
	remote := chain.Remote{In: n.listed(c, model.In), Out: n.listed(c, model.Out)}
	remote.In.Fenced, remote.Out.Fenced = p.fences[model.In].denied, p.fences[model.Out].denied
	functions := map[string]chain.Function{allowlist: chain.Allowlist{Remote: remote}, blocklist: chain.Blocklist{}, geofence: chain.Geofence{}}
	for _, f := range protectionFunctions(c) {
		name := countName(config.ProtectionName, f)
		steps = append(steps, chain.Step{Name: name, Number: numbers[name], Function: functions[f]})
	}
	return steps
}

// listed are the addresses that are on the lists for flows of a direction.
func (n named) listed(c *config.Config, d model.Direction) chain.Addresses {
	return chain.Addresses{Allowed: n.union(c.Protection.Allowlist, d), Blocked: n.union(c.Protection.Blocklist, d)}
}

// union is one set of all addresses of a list; nil where it has none.
func (n named) union(list []config.Listed, d model.Direction) *model.AddressSet {
	var sets []*model.AddressSet
	for _, l := range list {
		if l.Direction == model.AnyDirection || l.Direction == d {
			sets = append(sets, n.addresses(l))
		}
	}
	switch len(sets) {
	case 0:
		return nil
	case 1: // of both directions it is one set
		return sets[0]
	}
	var ranges []model.AddressRange
	for _, s := range sets {
		ranges = append(ranges, s.Ranges()...)
	}
	return model.NewAddressSet(ranges)
}

func (n named) addresses(l config.Listed) *model.AddressSet {
	switch {
	case l.Set != "":
		return n.sets[l.Set]
	case l.List != "":
		return n.lists.of(l.List)
	}
	return model.NewAddressSet([]model.AddressRange{model.RangeOf(l.Remote)})
}

// onList returns the first entry of a list that has an address of the prefix, for flows
// of a direction, and "" where none has.
func (n named) onList(list []config.Listed, d model.Direction, p netip.Prefix) string {
	i := slices.IndexFunc(list, func(l config.Listed) bool {
		return (l.Direction == model.AnyDirection || d == model.AnyDirection || l.Direction == d) && n.addresses(l).Meets(model.RangeOf(p))
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

// allowed says why a prefix must not be banned: the allowlist is asked before bans.
func (n named) allowed(c *config.Config, p netip.Prefix) error {
	if entry := n.onList(c.Protection.Allowlist, model.AnyDirection, p); entry != "" {
		return fmt.Errorf("the allowlist has it: %s", entry)
	}
	return nil
}
