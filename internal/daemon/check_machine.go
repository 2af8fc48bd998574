package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/diagnose"
	"github.com/realmgate/realmgate/internal/machine"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/names/shared"
	"github.com/realmgate/realmgate/internal/outbound"
	"github.com/realmgate/realmgate/internal/tenants"
	"github.com/realmgate/realmgate/internal/web/ability"
)

func (g machineServices) newDiagnosis() *diagnose.Service {
	return diagnose.New(diagnose.Hooks{
		State: func() diagnose.State {
			v := g.view.Load()
			return diagnose.State{Config: v.config, Outbound: v.outbound, Doubts: slices.Concat(v.shared().Rivals(), realm.WebDoubts(v.config))}
		},
		Hops: func() []netip.Addr { // netlink is followed, and has to see each change
			hops, _ := g.machine.LastNextHops()
			return hops
		},
		Tenants: func() []string {
			v := g.view.Load()
			xdp := slices.ContainsFunc(g.data.Interfaces(), func(i datapath.Interface) bool { return i.Mode == datapath.XDP })
			return append(tenantsOf(v.config, v.outbound, xdp, g.data.IsOurs), v.shared().Deaf(&g.machine)...)
		},
		Absent: func() (names []string) {
			for _, i := range g.data.Interfaces() {
				if i.Mode == datapath.Absent {
					names = append(names, i.Name)
				}
			}
			return names
		},
		Log: g.log,
	})
}

// Warnings says what a newcomer should know of the configuration, and, where this machine
// has some of its interfaces, which it lacks and where the two do not fit. With the right to send ARP it asks
// neighbours for some seconds at most. Hosts of the web are asked what they can, for five seconds at most.
func Warnings(ctx context.Context, d *config.Document) []string {
	c := d.Config
	plan := outbound.PlanOf(c)
	addresses, _ := plan.Look()
	if now, err := outbound.Resolved(c, addresses); err == nil {
		c = now
	}
	setup := diagnose.SetupOf(c, addresses)
	warnings := slices.Concat(setup.Doubts(), realm.WebDoubts(c))
	r, err := realm.RegistryOf(d)
	before := shared.Before(c, r, addresses)
	if err == nil {
		warnings = append(warnings, before.Rivals()...)
	}
	hops, _, err := machine.FindNextHops()
	if err != nil {
		return warnings
	}
	facts, err := diagnose.Collect(&setup, hops)
	if err != nil {
		return warnings
	}
	warnings = append(warnings, setup.Missing(facts)...)
	if !setup.IsHere(facts) {
		return warnings
	}
	warnings = append(warnings, before.OwnWarnings(facts.Own)...)
	if r != nil {
		var m machine.Machine
		m.SetAddresses(facts.Own)
		if err := m.LookAtSockets(); err == nil { // else the start says so
			warnings = append(warnings, before.Deaf(&m)...)
		}
	}
	if len(facts.Missing) == 0 { // else that is why
		warnings = append(warnings, plan.Doubts(addresses, c.Outbound.Slots)...)
	}
	facts.InUse, err = diagnose.AskOnce(ctx, &setup, facts)
	warnings = append(warnings, setup.Compare(facts)...)
	if r != nil { // else Check has said why
		warnings = append(warnings, ability.Look(ctx, new(net.Dialer).DialContext, webHostsOf(r), c.Web.Addresses)...)
	}
	warnings = append(warnings, tenantsOf(c, addresses, len(c.Interfaces.XDP) > 0, nil)...)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		warnings = append(warnings, err.Error())
	}
	return warnings
}

func tenantsOf(c *config.Config, outbound []netip.Addr, xdp bool, ours func(uint32) bool) []string {
	found, err := tenants.Find(&tenants.Setup{
		Public: c.Interfaces.Public, Private: c.Interfaces.Private, Stack: c.Interfaces.Stack,
		External: slices.Concat(outbound, c.Pool.Addresses, c.Web.Addresses), XDP: xdp, IsOurs: ours,
	})
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		found = append(found, err.Error())
	}
	return found
}
