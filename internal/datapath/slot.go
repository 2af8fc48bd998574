package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// SlotState is what may become of the slot of an outbound address.
type SlotState uint8

// A slot that is gone holds nothing: any address may have it. One that drains has lost its
// address, and ports of it still rest (RFC 6888 REQ-8).
const (
	SlotGone SlotState = iota
	SlotLive
	SlotDraining
)

// String is live, draining or gone.
func (s SlotState) String() string {
	return [...]string{SlotGone: "gone", SlotLive: "live", SlotDraining: "draining"}[s]
}

// Slot is a place for an outbound address: its mappings stand by the slot's number.
type Slot struct {
	Number  int
	Address netip.Addr // of one that is gone, the last that it had
	State   SlotState
	group   uint8
}

// DefaultSlots is two more than there are addresses, and three at least: for those that come
// before others have drained.
func DefaultSlots(addresses int) int { return min(max(3, addresses+2), model.MaxOutbound) }

// OutboundChange says what SetOutbound did.
type OutboundChange struct {
	Came, Left []netip.Addr
	Ended      int // sessions by those that left
}

// MostOutbound is how many outbound addresses there can be.
func (d *shareTable) MostOutbound() int { return int(d.layout.Slots) }

// Slots lists all slots, by their numbers.
func (d *shareTable) Slots() ([]Slot, error) {
	list := make([]Slot, d.layout.Slots)
	for number := range list {
		var entry bpfSlot
		if err := d.objects.SlotTable.Lookup(uint32(number), &entry); err != nil {
			return nil, fmt.Errorf("read slot %d: %w", number, err)
		}
		list[number] = Slot{Number: number, State: SlotState(entry.State), group: entry.Group}
		if entry.Address != 0 {
			list[number].Address = addressOf(entry.Address)
		}
	}
	return list, nil
}

// Outbound lists the outbound addresses that live.
func (d *shareTable) Outbound() ([]netip.Addr, error) {
	slots, err := d.Slots()
	var list []netip.Addr
	for _, s := range slots {
		if s.State == SlotLive {
			list = append(list, s.Address)
		}
	}
	return list, err
}

func (d *slotTable) writeSlot(s Slot) error {
	entry := bpfSlot{State: uint8(s.State), Group: s.group}
	if s.Address.IsValid() {
		entry.Address = networkOrder(s.Address)
	}
	if err := d.objects.SlotTable.Put(uint32(s.Number), &entry); err != nil {
		return fmt.Errorf("write slot %d: %w", s.Number, err)
	}
	return nil
}

// SetOutbound makes these the outbound addresses, as many as there are slots at most. What is
// new takes hosts that have no mappings, and those of addresses that go. What goes is answered
// for no longer, and sessions by it end. Where it fails, the next call goes on from there.
func (d *slotTable) SetOutbound(addresses []netip.Addr) (change OutboundChange, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(addresses) > int(d.layout.Slots) {
		return change, fmt.Errorf("%d outbound addresses, but there are slots for %d: restart the daemon", len(addresses), d.layout.Slots)
	}
	slots, err := d.Slots()
	if err != nil {
		return change, err
	}
	leave(slots, addresses, &change)
	waiting := d.place(slots, addresses, &change)
	if err := d.putOutbound(slots); err != nil {
		return change, err
	}
	if change.Ended, err = d.drain(slots, len(waiting) > 0); err != nil {
		return change, err
	}
	if len(waiting) > 0 {
		if waiting = d.place(slots, addresses, &change); len(waiting) > 0 {
			return change, fmt.Errorf("no slot has become free for the outbound addresses %v", waiting)
		}
		if err := d.putOutbound(slots); err != nil {
			return change, err
		}
	}
	if len(change.Came) > 0 {
		err = d.rebalance(slots)
	}
	return change, err
}

// leave makes those drain that are no more.
func leave(slots []Slot, addresses []netip.Addr, change *OutboundChange) {
	for i := range slots {
		if s := &slots[i]; s.State == SlotLive && !slices.Contains(addresses, s.Address) {
			s.State = SlotDraining
			change.Left = append(change.Left, s.Address)
		}
	}
}

// place gives slots to those that have none, and returns who finds none.
func (d *slotTable) place(slots []Slot, addresses []netip.Addr, change *OutboundChange) (waiting []netip.Addr) {
	for _, a := range addresses {
		if slices.ContainsFunc(slots, func(s Slot) bool { return s.State == SlotLive && s.Address == a }) {
			continue
		}
		// Its own, whose ports may still rest, before an empty one.
		i := slices.IndexFunc(slots, func(s Slot) bool { return s.Address == a })
		if i < 0 {
			i = slices.IndexFunc(slots, func(s Slot) bool { return s.State == SlotGone && !s.Address.IsValid() })
		}
		if i < 0 {
			i = slices.IndexFunc(slots, func(s Slot) bool { return s.State == SlotGone })
		}
		if i < 0 {
			waiting = append(waiting, a)
			continue
		}
		if slots[i].Address != a {
			slots[i].Address, slots[i].group = a, d.emptiestGroup(slots)
		}
		slots[i].State = SlotLive
		change.Came = append(change.Came, a)
	}
	return waiting
}

// emptiestGroup is the first of those with the fewest slots that live.
func (d *slotTable) emptiestGroup(slots []Slot) (group uint8) {
	living := make([]int, d.layout.Groups)
	for _, s := range slots {
		if s.State == SlotLive {
			living[s.group]++
		}
	}
	return uint8(slices.Index(living, slices.Min(living)))
}

// putOutbound writes what has changed: whom hosts leave by comes last, so that it is there.
func (d *slotTable) putOutbound(slots []Slot) error {
	for _, s := range slots {
		if err := d.writeSlot(s); err != nil {
			return err
		}
		if s.State == SlotDraining {
			d.changeControl(func(c *bpfControl) { c.Left = 1 })
		}
	}
	if err := d.putAddresses(); err != nil {
		return err
	}
	shares, err := d.shares()
	if err != nil {
		return err
	}
	shares.assign(slots, int(d.layout.Groups), nil)
	return d.writeShares(shares)
}

// drain ends what stands by addresses that have gone. cut: their ports rest no longer.
func (d *slotTable) drain(slots []Slot, cut bool) (ended int, err error) {
	if !slices.ContainsFunc(slots, func(s Slot) bool { return s.State == SlotDraining }) {
		return 0, nil
	}
	if err := waitForPrograms(); err != nil { // which may open sessions by them
		return 0, err
	}
	var errs []error
	for _, s := range slots {
		if s.State != SlotDraining {
			continue
		}
		n, err := d.endBy(s.Address)
		ended += n
		if errs = append(errs, err); err == nil && cut {
			first := uint32(s.Number) * protocols * ports
			_, err = d.sweep(bpfSweepTableSWEEP_END_RESTS, first, first+protocols*ports, nil)
			errs = append(errs, err)
		}
	}
	return ended, errors.Join(append(errs, d.expire(slots))...)
}

// expire says of those that have drained that they are gone.
func (d *slotTable) expire(slots []Slot) error {
	for i := range slots {
		s := &slots[i]
		if s.State != SlotDraining {
			continue
		}
		empty, err := d.isEmpty(s.Number)
		if err != nil {
			return err
		}
		if empty {
			s.State = SlotGone
			if err := d.writeSlot(*s); err != nil {
				return err
			}
		}
	}
	return nil
}

// isEmpty reports whether no port of a slot is taken.
func (d *slotTable) isEmpty(slot int) (bool, error) {
	for array := range uint32(protocols) {
		var bitmap bpfPortBitmap
		if err := d.objects.PortBitmaps.Lookup(uint32(slot)*protocols+array, &bitmap); err != nil {
			return false, fmt.Errorf("read the ports of slot %d: %w", slot, err)
		}
		if bitmap.Word != freePorts.Word {
			return false, nil
		}
	}
	return true, nil
}

// freePorts is what stands where no port is taken: port 0 is nobody's.
var freePorts = bpfPortBitmap{Word: [1024]uint64{0: 1}}

// TendSlots is for now and then: it lets go of slots that have drained, and spreads hosts
// that have no mappings over the addresses.
func (d *slotTable) TendSlots() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	slots, err := d.Slots()
	if err != nil {
		return err
	}
	return errors.Join(d.expire(slots), d.rebalance(slots))
}
