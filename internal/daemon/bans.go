package daemon

import (
	"context"
	"net/netip"
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
			Kernel: g.data, Store: g.store, Folder: stateDirectory, Events: banEvents{&g.events}, Rules: func() ban.Rules { return banRules(g.view.Load()) },
			Exempt: g.exempt, Log: g.log, Running: datapath.Running,
		})
	}
	return g.bans.Prepare(d.before == nil)
}

func banRules(v *view) ban.Rules {
	b := v.config.Bans
	return ban.Rules{
		Growth: ban.Growth{Factor: b.Factor, Cap: b.Cap, Memory: b.Memory}, Subnet: b.Subnet,
		Multiplier: func(a netip.Addr) float64 { return v.places.BanFactor(b.Regions, a) },
	}
}

func allowedOf(v *view) ban.Allowed {
	n := ruleset.NamedIn(v.config, v.lists)
	in := n.Union(v.config.Protection.Allowlist, model.Ranges{}, func(l config.Listed) bool { return l.Direction != model.Out })
	return ban.Allowed{Why: n.Allowed(v.config), In: in, In6: in.Prefixes6()}
}

// exempt looks who must not be banned by now.
func (g guardServices) exempt() (ban.Exempt, error) {
	v := g.view.Load()
	reasons := map[netip.Prefix]string{}
	single := func(a netip.Addr, why string) {
		a = a.Unmap().WithZone("")
		reasons[netip.PrefixFrom(a, a.BitLen())] = why
	}
	c := v.config
	for _, p := range c.NeverBan {
		reasons[p] = "never_ban has it"
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
	for _, a := range v.static.Addresses {
		single(a, "dnat answers for it")
	}
	for _, a := range c.OneToOneAddresses() {
		single(a, "it is a private host's public address")
	}
	for _, h := range c.Hosts {
		single(h.Address, "it is a private host's: a ban is of the remote end")
	}
	for a := range g.machine.Addresses() {
		single(a, "it is the gateway's own address")
	}
	hops, err := g.machine.NextHops()
	for _, a := range hops {
		single(a, "it is a next hop of the gateway")
	}
	return ban.Exempt{Allowed: v.allowed(), Reasons: reasons}, err
}

// AddBans implements api.Gateway.
func (g commands) AddBans(r api.BanRequest) (api.BanChange, error) { return g.bans.Add(r) }

// RemoveBans implements api.Gateway.
func (g commands) RemoveBans(r api.BanRequest) (api.BanChange, error) { return g.bans.Remove(r) }

// Bans implements api.Gateway.
func (g commands) Bans() ([]api.Ban, error) { return g.bans.Bans() }

func (g guardServices) runBans(ctx context.Context) error { return g.bans.Run(ctx) }

func (g guardServices) reportBans(s *api.Status) error { return g.bans.Report(s) }
