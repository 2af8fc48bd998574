package datapath

import (
	"errors"
	"maps"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// ErrPortsFull says that Options.BoundPorts are bound.
var ErrPortsFull = errors.New("the table of bound ports is full")

// boundPorts knows which entries of bound_port_table are free and whose the others are; the
// table says the same, and a new daemon reads it there.
type boundPorts struct {
	mutex sync.Mutex
	// free are entries, the longest free first: a packet that has just found one is at its
	// end long before it is another's.
	free []uint32
	used map[uint32]map[model.Port]uint32 // by the binding's entry
}

// readBoundPorts fills it from the table.
func (d *bindingTable) readBoundPorts() error {
	d.bound.used = map[uint32]map[model.Port]uint32{}
	return ForEach(d.objects.BoundPortTable, func(entry uint32, p *bpfBoundPort) {
		if p.Number == 0 {
			d.bound.free = append(d.bound.free, entry)
			return
		}
		d.bound.put(uint32(p.Binding), portOf(p), entry)
	})
}

func portOf(p *bpfBoundPort) model.Port {
	return model.Port{Protocol: model.Protocol(p.Protocol), Port: swap(p.Port), To: swap(p.HostPort)}
}

func (b *boundPorts) put(binding uint32, p model.Port, entry uint32) {
	if b.used[binding] == nil {
		b.used[binding] = map[model.Port]uint32{}
	}
	b.used[binding][p] = entry
}

// of returns the ports of a binding, and their entries.
func (b *boundPorts) of(binding uint32) map[model.Port]uint32 {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return maps.Clone(b.used[binding])
}

func (d *bindingTable) bindPort(b *Binding, p model.Port) error {
	d.bound.mutex.Lock()
	defer d.bound.mutex.Unlock()
	if len(d.bound.free) == 0 {
		return ErrPortsFull
	}
	request := bpfBindingRequest{Slot: d.bound.free[0]}
	request.Port.Address, request.Port.Binding, request.Port.Number = networkOrder(b.Address), uint16(slotOf(b.ID)), numberOf(b.ID)
	request.Port.Protocol, request.Port.Port, request.Port.HostPort = uint8(p.Protocol), swap(p.Port), swap(p.To)
	err := d.run(d.objects.BindPort, &request, &request.Error)
	if errors.Is(err, unix.ENOSPC) {
		return ErrPortsFull
	}
	if err != nil {
		return err
	}
	d.bound.free = d.bound.free[1:]
	d.bound.put(slotOf(b.ID), p, request.Slot)
	return nil
}

func (d *bindingTable) unbindPort(id uint64, p model.Port) error {
	d.bound.mutex.Lock()
	defer d.bound.mutex.Unlock()
	request := bpfBindingRequest{Slot: d.bound.used[slotOf(id)][p]}
	if err := d.run(d.objects.UnbindPort, &request, &request.Error); err != nil {
		return err
	}
	delete(d.bound.used[slotOf(id)], p)
	if len(d.bound.used[slotOf(id)]) == 0 {
		delete(d.bound.used, slotOf(id))
	}
	d.bound.free = append(d.bound.free, request.Slot)
	return nil
}
