package daemon

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/outbound"
)

func nothingPast(netip.Addr) bool { return false }

// openOutbound begins to keep the addresses.
func (g machineServices) openOutbound(d *draft) (change, error) {
	return change{Commit: func() (err error) {
		g.outbound, err = g.keepOutbound(d.view)
		return err
	}}, nil
}

// prepareOutbound has their keeper follow.
func (g machineServices) prepareOutbound(d *draft) (change, error) {
	return change{Settle: func() {
		if err := g.outbound.Follow(outbound.PlanOf(d.config), d.outbound); err != nil {
			g.log.Error("outbound address update failed", "error", err)
		}
	}}, nil
}

func (g machineServices) runOutbound(ctx context.Context) { g.outbound.Run(ctx) }

func (g machineServices) keepOutbound(v *view) (*outbound.Keeper, error) {
	return outbound.Begin(outbound.PlanOf(v.config), v.outbound, outbound.Options{
		Plane: followedPlane(g), Log: g.log, Settle: g.readdress,
		Changed: func(change datapath.OutboundChange, now []netip.Addr) {
			g.events.Emit(event.Outbound{Came: change.Came, Left: change.Left, Ended: change.Ended, Addresses: now})
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
	if err := g.services.Apply(old.next(wanted{document: old.document, outbound: addresses, lists: old.lists})); err != nil {
		g.log.Error("configuration does not fit the outbound addresses", "error", err)
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
	s.Warnings = append(s.Warnings, g.outbound.Warnings()...)
	return nil
}

// followedPlane takes addresses that have left their interface out of the pool before they are outbound no more, so that
// nobody answers ARP for them, and ends the sessions there.
type followedPlane struct{ *Daemon }

// SetOutbound implements outbound.Plane.
func (p followedPlane) SetOutbound(addresses []netip.Addr) (datapath.OutboundChange, error) {
	v := p.view.Load()
	left := slices.DeleteFunc(slices.Clone(v.config.Pool.Addresses), func(a netip.Addr) bool {
		return slices.Contains(v.document.Config.Pool.Addresses, a) || slices.Contains(addresses, a)
	})
	var err error
	if len(left) > 0 {
		err = p.data.SetAddresses(slices.DeleteFunc(slices.Clone(v.config.Pool.Addresses), func(a netip.Addr) bool {
			return slices.Contains(left, a)
		}), v.dnat.Addresses)
	}
	change, outboundErr := p.data.SetOutbound(addresses)
	if len(left) > 0 { // those by a mapping have ended
		ended, endErr := p.data.EndSessions(func(s datapath.Session) bool {
			return s.Origin == "pool" && slices.Contains(left, s.External.Addr())
		})
		change.Ended += ended
		err = errors.Join(err, endErr)
	}
	return change, errors.Join(err, outboundErr)
}

// TendSlots implements outbound.Plane.
func (p followedPlane) TendSlots() error { return p.data.TendSlots() }

// MostOutbound implements outbound.Plane.
func (p followedPlane) MostOutbound() int { return p.data.MostOutbound() }
