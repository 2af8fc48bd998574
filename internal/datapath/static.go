package datapath

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// MostStaticPorts is how many ports of outbound addresses chains may send on: the table
// has room for two generations (bpf/include/types.h).
const MostStaticPorts = 4096

// StaticPort is a port of an outbound address that no mapping is given.
type StaticPort struct {
	Address  netip.Addr
	Protocol model.Protocol // TCP or UDP
	Port     uint16
}

// slot is the one that a mapping of the port would have (mapping.h).
func (d *Datapath) slot(p StaticPort) (uint32, error) {
	outbound := slices.Index(d.options.Outbound, p.Address)
	place := slices.Index([]model.Protocol{model.UDP, model.TCP}, p.Protocol) // port_protocol
	if outbound < 0 || place < 0 {
		return 0, fmt.Errorf("%s port %d of %s is no port of an outbound address", p.Protocol, p.Port, p.Address)
	}
	return (uint32(outbound)*protocols+uint32(place))*ports + uint32(p.Port), nil
}

// putStaticPorts keeps the ports from new mappings, before chains send them on. Who has
// one goes on with it.
func (d *Datapath) putStaticPorts(list []StaticPort) (wanted map[uint32]bool, err error) {
	wanted = make(map[uint32]bool, len(list))
	for _, p := range list {
		slot, err := d.slot(p)
		if err != nil {
			return nil, err
		}
		wanted[slot] = true
	}
	if len(wanted) > MostStaticPorts {
		return nil, fmt.Errorf("%d ports of outbound addresses for dnat: at most %d", len(wanted), MostStaticPorts)
	}
	for slot := range wanted {
		if err := d.objects.StaticPorts.Put(slot, uint8(1)); err != nil {
			return nil, fmt.Errorf("keep port %d of an outbound address for dnat: %w", slot%ports, err)
		}
	}
	return wanted, nil
}

// staticPorts lists the ports that no mapping is given.
func (d *Datapath) staticPorts() (map[uint32]bool, error) {
	list := map[uint32]bool{}
	var slot uint32
	var is uint8
	entries := d.objects.StaticPorts.Iterate()
	for entries.Next(&slot, &is) {
		list[slot] = true
	}
	if err := entries.Err(); err != nil {
		return nil, fmt.Errorf("list the ports that dnat has: %w", err)
	}
	return list, nil
}

// keepStaticPorts gives all but these to mappings again.
func (d *Datapath) keepStaticPorts(wanted map[uint32]bool) error {
	list, err := d.staticPorts()
	if err != nil {
		return err
	}
	for slot := range list {
		if wanted[slot] {
			continue
		}
		if err := d.objects.StaticPorts.Delete(slot); err != nil {
			return fmt.Errorf("give port %d of an outbound address to mappings again: %w", slot%ports, err)
		}
	}
	return nil
}
