package machine

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/metrics/metric"
)

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
		if n.State == netlink.NUD_FAILED {
			failed[n.IP.String()] = true
		}
	}
	for _, hop := range hops {
		metric.PutIf(page, metric.NextHopUp, !failed[hop.String()], hop.String())
	}
	return nil
}
