package datapath

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// Binding is a service at an address of the pool, with the ports by which the outside
// reaches it.
type Binding struct {
	// ID is never used twice: its low half is the slot, below Options.Bindings, its high
	// half a number that is not 0.
	ID      uint64
	Address netip.Addr // of the pool
	Host    netip.Addr // private
	Name    uint32     // number of the service, for listings
	Ports   []model.Port
	// Used is when a session of it was opened or ended last, Answered when it was reserved;
	// zero: never. They may be up to a tick late, never early.
	Used     model.Instant
	Answered model.Instant
	Sessions int  // that stand: proved, and not ended
	Open     bool // false: withdrawn, kept until its slot is used again
}

// ErrStands says that sessions of the slot's last binding are still in the tables.
var ErrStands = errors.New("sessions of the slot's last binding stand")

func numberOf(id uint64) uint32 { return uint32(id >> 32) }

func bindingID(slot, number uint32) uint64 { return uint64(number)<<32 | uint64(slot-1) }

// Bind installs the binding, then its ports; on error nothing is left of it.
func (d *bindingTable) Bind(b Binding) error {
	request := bpfBindingRequest{Slot: slotOf(b.ID)}
	request.Binding.Number, request.Binding.Name = numberOf(b.ID), b.Name
	request.Binding.Address, request.Binding.Host = networkOrder(b.Address), networkOrder(b.Host)
	request.Binding.Stamp, request.Binding.Answered = stampOf(b.Used), stampOf(b.Answered)
	if request.Binding.Number == 0 {
		return fmt.Errorf("bind %s to %s: its number is 0", b.Address, b.Host)
	}
	if err := d.run(d.objects.BindService, &request, &request.Error); err != nil {
		if errors.Is(err, unix.EBUSY) {
			err = ErrStands
		}
		return fmt.Errorf("bind %s to %s in the data plane: %w", b.Address, b.Host, err)
	}
	if err := d.Rebind(b); err != nil {
		return errors.Join(err, d.Unbind(b.ID))
	}
	return nil
}

// Rebind gives a binding that stands other ports: those that stay are never away. On error
// it has those that it had.
func (d *bindingTable) Rebind(b Binding) error {
	have := d.bound.of(slotOf(b.ID))
	wanted := make(map[model.Port]bool, len(b.Ports))
	var added []model.Port
	for _, p := range b.Ports {
		_, there := have[p]
		if there || wanted[p] {
			wanted[p] = true
			continue
		}
		wanted[p] = true
		if err := d.bindPort(&b, p); err != nil {
			for _, p := range added {
				err = errors.Join(err, d.unbindPort(b.ID, p))
			}
			return fmt.Errorf("bind %s of %s to %s in the data plane: %w", p, b.Address, b.Host, err)
		}
		added = append(added, p)
	}
	var errs []error
	for p := range have {
		if !wanted[p] {
			errs = append(errs, d.unbindPort(b.ID, p))
		}
	}
	return errors.Join(errs...)
}

// Unbind takes the binding's ports away and closes it: its reservations claim nothing any
// more, nor is a client of it known. Its sessions go on.
func (d *bindingTable) Unbind(id uint64) error {
	var errs []error
	for p := range d.bound.of(slotOf(id)) {
		errs = append(errs, d.unbindPort(id, p))
	}
	request := bpfBindingRequest{Slot: slotOf(id)}
	request.Binding.Number = numberOf(id)
	return errors.Join(append(errs, d.run(d.objects.UnbindService, &request, &request.Error))...)
}

// BindingUse tells when a session of the binding was opened or ended last, and how many
// stand. Zero and 0 for one that the data plane does not know.
func (d *bindingTable) BindingUse(id uint64) (used model.Instant, sessions int) {
	var b bpfBinding
	if d.objects.BindingTable.Lookup(slotOf(id), &b) != nil || b.Number != numberOf(id) {
		return 0, 0
	}
	return usedAt(b.Stamp), int(b.Sessions)
}

// BindingUses tells what BindingUse does, of all bindings that sessions were opened or ended of.
func (d *bindingTable) BindingUses(visit func(id uint64, used model.Instant, sessions int)) error {
	return ForEach(d.objects.BindingTable, func(slot uint32, b *bpfBinding) {
		if b.Number != 0 && (b.Stamp != 0 || b.Sessions != 0) {
			visit(bindingID(slot, b.Number), usedAt(b.Stamp), int(b.Sessions))
		}
	})
}

// stampOf is the tick of a use: 0 for none.
func stampOf(used model.Instant) uint32 { return uint32(used >> tickShift) }

// usedAt is the end of the tick that a binding was used in.
func usedAt(stamp uint32) model.Instant {
	if stamp == 0 {
		return 0
	}
	return model.Instant(stamp+1) << tickShift
}

// SlotVacant reports whether a slot may be used again: no session of its last binding is in
// the tables, be it ended.
func (d *bindingTable) SlotVacant(slot uint32) bool {
	var b bpfBinding
	return d.objects.BindingTable.Lookup(slot+1, &b) == nil && b.Open == 0 && b.Records == 0
}

// Bindings reads all bindings back whose slot was not used again, with their ports, for
// adoption.
func (d *bindingTable) Bindings() ([]Binding, error) {
	var found []Binding
	err := ForEach(d.objects.BindingTable, func(slot uint32, b *bpfBinding) {
		if b.Number != 0 {
			found = append(found, d.bindingOf(slot, b))
		}
	})
	return found, err
}

func (d *core) bindingOf(slot uint32, b *bpfBinding) Binding {
	binding := Binding{
		ID: bindingID(slot, b.Number), Address: addressOf(b.Address), Host: addressOf(b.Host), Name: b.Name,
		Used: usedAt(b.Stamp), Answered: usedAt(b.Answered), Sessions: int(b.Sessions), Open: b.Open != 0,
	}
	for p := range d.bound.of(slot) {
		binding.Ports = append(binding.Ports, p)
	}
	return binding
}

// boundTo says what a slot's binding is, and which service it is of.
type boundTo struct{ number, name uint32 }

// slotBindings are the bindings of all slots.
func (d *core) slotBindings() ([]boundTo, error) {
	all := make([]boundTo, d.layout.Bindings+1)
	err := ForEach(d.objects.BindingTable, func(slot uint32, b *bpfBinding) { all[slot] = boundTo{b.Number, b.Name} })
	return all, err
}
