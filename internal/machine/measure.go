package machine

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
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
	failed := map[datapath.Neighbour]bool{}
	for _, n := range neighbours {
		if a, ok := netip.AddrFromSlice(n.IP); ok && !answers(n.State) {
			failed[datapath.Neighbour{Link: n.LinkIndex, Address: a.Unmap()}] = true
		}
	}
	up := m.up(failed)
	for _, hop := range hops {
		metric.PutIf(page, metric.NextHopUp, up[hop], hop.String())
	}
	return nil
}

// up says which next hops answer, on each of the links that they are a route's next hop on.
func (m *Machine) up(failed map[datapath.Neighbour]bool) map[netip.Addr]bool {
	up := map[netip.Addr]bool{}
	hops, _ := m.LastNextHops()
	for _, hop := range hops {
		up[hop] = true
	}
	for _, n := range m.Neighbours() {
		if failed[n] {
			up[n.Address] = false
		}
	}
	return up
}
