package datapath

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
)

// portProtocols are those of an outbound address's ports, in the order of port_array in bpf/nat/port.h.
var portProtocols = [protocols]model.Protocol{model.UDP, model.TCP, model.ICMP}

// PortUse is how many ports of an outbound address are taken for mappings, or rest, of those that are not for the first 1,024.
type PortUse struct {
	Protocol    model.Protocol
	Taken, Most int
}

// PortUse counts the ports of a slot, for each protocol.
func (d *shareTable) PortUse(s Slot) ([]PortUse, error) {
	list := make([]PortUse, protocols)
	for i, protocol := range portProtocols {
		var bitmap bpfPortBitmap
		if err := d.objects.PortBitmaps.Lookup(uint32(s.Number*protocols+i), &bitmap); err != nil {
			return nil, fmt.Errorf("read the ports of slot %d: %w", s.Number, err)
		}
		list[i] = PortUse{protocol, int(bitmap.Taken), ports - portClass}
	}
	return list, nil
}

// TableBytes is the size of each table, as the kernel accounts for it.
func (d *core) TableBytes() (map[string]uint64, error) {
	all := map[string]uint64{}
	for name, table := range d.Tables() {
		bytes, err := memoryOf(table)
		if err != nil {
			return nil, err
		}
		all[name] = bytes
	}
	return all, nil
}
