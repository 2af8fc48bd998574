package gateway

import (
	"context"
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

// prepareOutbound has the keeper of the addresses follow.
func (g machineServices) prepareOutbound(d *draft) (change, error) {
	if d.before == nil {
		return change{Commit: func() (err error) {
			g.outbound, err = g.keepOutbound(d.view)
			return err
		}}, nil
	}
	return change{Settle: func() {
		if err := g.outbound.Follow(planOf(d.config), d.outbound); err != nil {
			g.log.Error("following the outbound addresses", "error", err)
		}
	}}, nil
}

func (g machineServices) runOutbound(ctx context.Context) { g.outbound.Run(ctx) }

func (g machineServices) keepOutbound(v *view) (*outbound.Keeper, error) {
	return outbound.Begin(planOf(v.config), v.outbound, outbound.Options{
		Plane: followedPlane{g.Gateway}, Log: g.log, Settle: g.readdress,
		Changed: func(change datapath.OutboundChange, now []netip.Addr) {
			g.events.Emit(events.Outbound{Came: change.Came, Left: change.Left, Ended: change.Ended, Addresses: now})
		},
	})
}

// readdress makes what is in force follow the outbound addresses.
func (g machineServices) readdress() {
	g.reload.Lock()
	defer g.reload.Unlock()
	old, addresses := g.view.Load(), g.outbound.Addresses()
	if slices.Equal(old.outbound, addresses) {
		return
	}
	if err := g.services.Apply(old.next(old.document, addresses, old.lists)); err != nil {
		g.log.Error("the configuration does not fit the outbound addresses of now", "error", err)
		now := *old // others read the one in force
		now.outbound = addresses
		g.view.Store(&now)
	}
}

// reportOutbound says by which addresses hosts leave.
func (g machineServices) reportOutbound(s *api.Status) error {
	slots, err := g.data.Slots()
	if err != nil {
		return err
	}
	parts, err := g.data.HostShares()
	if err != nil {
		return err
	}
	for _, slot := range slots {
		if slot.State != datapath.SlotGone {
			s.Outbound = append(s.Outbound, api.Outbound{Address: slot.Address, State: slot.State.String(), Hosts: parts[slot.Number]})
		}
	}
	s.Mappings.Capacity = uint64(len(g.outbound.Addresses())) * 3 * 65535
	s.Remedies = append(s.Remedies, g.outbound.Remedies()...)
	return nil
}
