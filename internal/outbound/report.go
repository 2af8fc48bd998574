package outbound

import (
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
)

// Report says by which addresses hosts leave, and what is wrong with them.
func (k *Keeper) Report(s *api.Status) error {
	slots, err := k.plane.Slots()
	if err != nil {
		return err
	}
	parts, err := k.plane.HostShares()
	if err != nil {
		return err
	}
	for _, slot := range slots {
		if slot.State != datapath.SlotGone {
			s.Outbound = append(s.Outbound, api.Outbound{Address: slot.Address, State: slot.State.String(), Hosts: parts[slot.Number]})
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	s.Mappings.Capacity = uint64(len(k.now)) * 3 * 65535
	if len(k.now) == 0 && k.plan.wants() {
		s.Warnings = append(s.Warnings, k.plan.missing())
	}
	if k.said != "" {
		s.Warnings = append(s.Warnings, k.said)
	}
	return nil
}
