package machine

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// answers says whether a neighbour in a state of the kernel's does, as far as is known. While packets come for one that does not,
// the kernel asks for it most of the time (NUD_INCOMPLETE): it has failed from the end of that to the next packet only.
func answers(state int) bool { return state&(netlink.NUD_FAILED|netlink.NUD_INCOMPLETE) == 0 }

// Measure says which next hops do not answer, as far as the kernel knows.
func (m *Machine) Measure(page metric.Page) error {
	hops, _ := m.LastNextHops()
	if len(hops) == 0 {
		return nil
	}
	neighbours, err := netlink.NeighList(0, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("list the neighbours: %w", err)
	}
	failed := map[string]bool{}
	for _, n := range neighbours {
		if !answers(n.State) {
			failed[n.IP.String()] = true
		}
	}
	for _, hop := range hops {
		metric.PutIf(page, metric.NextHopUp, !failed[hop.String()], hop.String())
	}
	return nil
}
