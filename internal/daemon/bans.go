package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// prepareBans gives the bans what they need at the start, and a draft its allowlist.
func (g guardServices) prepareBans(d *draft) (change, error) {
	d.allowed = sync.OnceValue(func() ban.Allowed { return allowedOf(d.view) })
	if d.before == nil {
		g.bans = ban.New(ban.Options{
			Kernel: g.data, Store: g.store, Folder: stateDirectory, Events: banEvents{&g.events},
			Rules:  func() ban.Rules { return ban.RulesOf(g.view.Load().config, g.view.Load().places.BanFactor) },
			Exempt: g.exempt, Log: g.log, Running: datapath.Running,
		})
	}
	return g.bans.Prepare(d.before == nil)
}

func allowedOf(v *view) ban.Allowed {
	n := ruleset.NamedIn(v.config, v.lists)
	in := n.Union(v.config.Protection.Allowlist, model.Ranges{}, func(l config.Listed) bool { return l.Direction != model.Out })
	return ban.Allowed{Why: n.Allowed(v.config), In: in}
}

// exempt looks who must not be banned by now.
func (g guardServices) exempt() (ban.Exempt, error) {
	v := g.view.Load()
	hops, err := g.machine.NextHops()
	return ban.ExemptOf(v.allowed(), ban.Around{
		Config: v.config, Outbound: v.outbound, Static: v.static.Addresses, Own: slices.Collect(maps.Keys(g.machine.Addresses())), Hops: hops,
	}), err
}

// AddBans implements api.Gateway.
func (g commands) AddBans(r api.BanRequest) (api.BanChange, error) { return g.bans.Add(r) }

// RemoveBans implements api.Gateway.
func (g commands) RemoveBans(r api.BanRequest) (api.BanChange, error) { return g.bans.Remove(r) }

// Bans implements api.Gateway.
func (g commands) Bans() ([]api.Ban, error) { return g.bans.Bans() }

func (g guardServices) runBans(ctx context.Context) error { return g.bans.Run(ctx) }

func (g guardServices) reportBans(s *api.Status) error { return g.bans.Report(s) }
