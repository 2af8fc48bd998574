package datapath

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// MappedTo returns the private endpoint that has an endpoint of an outbound address.
func (d *lookup) MappedTo(protocol model.Protocol, external netip.AddrPort) (inside netip.AddrPort, mapped bool, err error) {
	all, err := d.Slots()
	if err != nil {
		return inside, false, err
	}
	outbound := slices.IndexFunc(all, func(s Slot) bool { return s.State == SlotLive && s.Address == external.Addr() })
	place := slices.Index([]model.Protocol{model.UDP, model.TCP, model.ICMP}, protocol) // slot_protocol
	if outbound < 0 || place < 0 {
		return inside, false, nil
	}
	slot := uint32((outbound*protocols+place)*ports) + uint32(external.Port())
	var block bpfMappingBlock
	if err := d.objects.MappingTable.Lookup(slot/mappingBlock, &block); err != nil {
		return inside, false, fmt.Errorf("look for the mapping of %s: %w", external, err)
	}
	e := endpointOf(block.Endpoint[slot%mappingBlock])
	return netip.AddrPortFrom(addressOf(e.Address), swap(e.Port)), bpfPhase(e.Phase) == bpfPhasePHASE_LIVE, nil
}

// CheckedNow reports whether the generation in force has checked the session.
func (d *lookup) CheckedNow(s Session) (bool, error) {
	generation, err := d.Generation()
	return s.Generation == generation<<policyBits>>policyBits, err
}
