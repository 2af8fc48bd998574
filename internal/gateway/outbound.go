package gateway

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/outbound"
)

// planOf resolves the default: the first public interface's first address.
func planOf(c *config.Config) outbound.Plan {
	o := c.Outbound
	if len(o.Addresses)+len(o.Interfaces) > 0 {
		return outbound.Plan{Addresses: o.Addresses, Interfaces: o.Interfaces, Private: c.Interfaces.Private}
	}
	return outbound.Plan{Interfaces: c.Interfaces.Public[:1], First: true, Private: c.Interfaces.Private}
}

func nothingPast(netip.Addr) bool { return false }

func (g *Gateway) keepOutbound(v *view) (*outbound.Keeper, error) {
	return outbound.Begin(planOf(v.config), v.outbound, outbound.Options{
		Plane: followedPlane{g}, Log: g.log, Settle: g.readdress,
		Changed: func(change datapath.OutboundChange, now []netip.Addr) {
			g.events.Emit(events.Outbound{Came: change.Came, Left: change.Left, Ended: change.Ended, Addresses: now})
		},
	})
}

// readdress makes what is in force follow the outbound addresses.
func (g *Gateway) readdress() {
	g.reload.Lock()
	defer g.reload.Unlock()
	old, addresses := g.view.Load(), g.outbound.Addresses()
	if slices.Equal(old.outbound, addresses) {
		return
	}
	v, err := newView(old.document, addresses, g.outbound.Past, old.lists)
	if err == nil {
		v.saved, v.places, v.hops = old.saved, old.places, old.hops
		err = g.switchTo(old, v)
	}
	if err != nil {
		g.log.Error("the configuration does not fit the outbound addresses of now", "error", err)
		now := *old // others read the one in force
		now.outbound = addresses
		g.view.Store(&now)
	}
}

func (g *Gateway) outboundStatus() (list []api.Outbound, err error) {
	slots, err := g.data.Slots()
	if err != nil {
		return nil, err
	}
	parts, err := g.data.HostShares()
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
		if s.State != datapath.SlotGone {
			list = append(list, api.Outbound{Address: s.Address, State: s.State.String(), Hosts: parts[s.Number]})
		}
	}
	return list, nil
}
