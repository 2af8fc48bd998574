package daemon

import (
	"maps"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

func (g guardServices) newBans() *ban.Service {
	return ban.New(ban.Options{
		Folder: stateDirectory, Events: &g.events,
		Rules:  func() ban.Rules { v := g.view.Load(); return ban.RulesOf(v.config, v.geofences.BanFactor) },
		Exempt: g.exempt, Log: g.log, Running: datapath.Running,
	})
}

func (g guardServices) openBans(d *draft) (change, error) {
	d.allow()
	return g.bans.Open(g.data, g.store), nil
}

func (g guardServices) prepareBans(d *draft) (change, error) {
	d.allow()
	return g.bans.Prepare(), nil
}

// allow gives the draft its allowlist.
func (d *draft) allow() {
	d.allowed = sync.OnceValue(func() ban.Allowed { return allowedOf(d.view) })
}

func allowedOf(v *view) ban.Allowed {
	n := ruleset.NamedIn(v.config, v.lists)
	in := n.Union(v.config.Protection.Allowlist, model.Ranges{}, func(l settings.Listed) bool { return l.Direction != model.Out })
	return ban.Allowed{Why: n.Allowed(v.config), In: in}
}

// exempt looks who must not be banned by now.
func (g guardServices) exempt() (ban.Exempt, error) {
	v := g.view.Load()
	hops, err := g.machine.NextHops()
	return ban.ExemptOf(v.allowed(), ban.Around{
		Config: v.config, Outbound: v.outbound, Dnat: v.dnat.Addresses, Own: slices.Collect(maps.Keys(g.machine.Addresses())), Hops: hops,
	}), err
}
