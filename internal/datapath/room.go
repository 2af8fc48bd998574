package datapath

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Room is how many of something all may have, and how many of these are left.
type Room struct{ Most, Left int }

// Allows is threshold_allows of bpf/include/threshold.h: whether who has so many of its limit,
// 0 for none, may have one more.
func (r Room) Allows(has, limit int) bool {
	if has == 0 || limit == 0 || 4*has < r.Left {
		return true
	}
	limit = min(limit, r.Most/8*7)
	return has*(r.Most-limit) < limit*r.Left
}

// SessionRoom is record_room of bpf/include/record.h: the sessions that hosts inside may have, or
// those from outside.
func (d *Datapath) SessionRoom(inside bool) (Room, error) {
	most := int(d.layout.Capacity - d.layout.Reserve)
	if d.layout.Reserve == 0 {
		return Room{most, most}, nil
	}
	of, err := d.recordUses()
	used, others := of[0], of[1]
	if inside {
		used, others = others, used
	}
	return Room{most, max(0, most-max(0, used+max(0, others-int(d.layout.Reserve))))}, err
}

// PortRoom is port_room of bpf/include/port.h: the ports from 1,024 on that mappings of a protocol
// may have of an outbound address.
func (d *Datapath) PortRoom(outbound netip.Addr, protocol model.Protocol) (room Room, err error) {
	d.mutex.Lock()
	shared := d.known[outbound].Local != 0 && protocol != model.ICMP
	d.mutex.Unlock()
	slots, err := d.Slots()
	if err != nil {
		return room, err
	}
	slot := slices.IndexFunc(slots, func(s Slot) bool { return s.State == SlotLive && s.Address == outbound })
	place := slices.Index([]model.Protocol{model.UDP, model.TCP, model.ICMP}, protocol) // slot_protocol
	if slot < 0 || place < 0 {
		return room, fmt.Errorf("ports of protocol %v at %s: there are none", protocol, outbound)
	}
	var bitmap bpfPortBitmap
	if err := d.objects.PortBitmaps.Lookup(uint32(slot*protocols+place), &bitmap); err != nil {
		return room, fmt.Errorf("read the ports of slot %d: %w", slot, err)
	}
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return room, fmt.Errorf("read the generation in force: %w", err)
	}
	var settings bpfSettings
	if err := d.objects.SettingsTable.Lookup(control.Generation&1, &settings); err != nil {
		return room, fmt.Errorf("read the settings in force: %w", err)
	}
	kept := int(settings.Keeps)
	if shared {
		kept += max(0, int(control.OwnLast)+1-max(int(control.OwnFirst), portClass))
	}
	room.Most = max(0, ports-portClass-kept)
	room.Left = max(0, room.Most-int(bitmap.Taken))
	return room, nil
}
