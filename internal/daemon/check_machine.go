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
	"github.com/realmgate/realmgate/internal/doctor"
	"github.com/realmgate/realmgate/internal/guard/jail"
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
			found := tenants.Find(tenants.SetupOf(v.config, v.outbound, xdp, g.data.IsOurs))
			return slices.Concat(found.Rules, found.Links, found.Failed, v.shared().Deaf(&g.machine))
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

// Doubts says what a newcomer should know of the configuration, and, where this machine has some of its interfaces, which it lacks and
// where the two do not fit. With the right to send ARP it asks neighbours for some seconds; hosts of the web, for five at most.
func Doubts(ctx context.Context, d *config.Document) (found doctor.Doubts) {
	c := d.Config
	plan := outbound.PlanOf(c)
	addresses, _ := plan.Look()
	if now, err := outbound.Resolved(c, addresses); err == nil {
		c = now
	}
	setup := diagnose.SetupOf(c, addresses)
	found.Configuration = slices.Concat(setup.Doubts(), realm.WebDoubts(c), jail.Doubts(c.Jails))
	r, err := realm.RegistryOf(d)
	before := shared.Before(c, r, addresses)
	if err == nil {
		found.Configuration = append(found.Configuration, before.Rivals()...)
	}
	hops, err := machine.FindNextHops()
	if err != nil {
		return found
	}
	facts, err := diagnose.Collect(&setup, hops.Addresses)
	if err != nil {
		return found
	}
	found.Interfaces = setup.Missing(facts)
	if !setup.IsHere(facts) {
		return found
	}
	found.Addresses = before.OwnWarnings(facts.Own)
	var m machine.Machine
	m.SetAddresses(facts.Own)
	if err := m.LookAtSockets(); err == nil { // else the start says so
		if r != nil {
			found.Web = before.Deaf(&m)
		}
		found.Ports = append(m.Taken("dns.public", c.DNS.Public, "realmgate"), m.Taken("dns.private", c.DNS.Private, "realmgate")...)
	}
	if len(facts.Missing) == 0 { // else that is why
		found.Configuration = append(found.Configuration, plan.Doubts(addresses, c.Outbound.Slots)...)
	}
	facts.InUse, err = diagnose.AskOnce(ctx, &setup, facts)
	found.Interfaces, found.Hosts = append(found.Interfaces, setup.Links(facts)...), setup.Lost(facts)
	found.Addresses = append(found.Addresses, setup.Addresses(facts)...)
	if r != nil { // else Check has said why
		found.Web = append(found.Web, ability.Look(ctx, new(net.Dialer).DialContext, ability.HostsOf(r), c.Web.Addresses)...)
	}
	others := tenants.SetupOf(c, addresses, len(c.Interfaces.XDP) > 0, datapath.IsNamedOurs)
	tenant := tenants.Find(others)
	found.Rules, found.Links, found.Failed, found.Denied = tenant.Rules, tenant.Links, tenant.Failed, tenant.Denied
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		found.Failed = append(found.Failed, err.Error())
	}
	return found
}
