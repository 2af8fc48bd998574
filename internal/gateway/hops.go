package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
)

// hopsPause is how many times longer than a look at the routes took it is until the next:
// tables of the whole Internet take seconds.
const hopsPause = 20

// hops are the next hops of the main routing tables, whom nothing of the protection may
// cut off.
type hops struct {
	mutex sync.Mutex
	list  []netip.Addr // in rising order
	due   time.Time    // before which they are not looked for again
}

// now returns them, of the last look where it is too early for another.
func (h *hops) now() ([]netip.Addr, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	begun := time.Now()
	if begun.Before(h.due) {
		return h.list, nil
	}
	list, err := nextHops()
	if err != nil {
		return nil, err
	}
	taken := time.Since(begun)
	h.list, h.due = list, begun.Add((hopsPause+1)*taken)
	return list, nil
}

// nextHops are those of the main routing tables, each once.
func nextHops() ([]netip.Addr, error) {
	found := map[netip.Addr]bool{}
	add := func(hop net.IP) {
		if a, ok := netip.AddrFromSlice(hop); ok {
			found[a.Unmap()] = true
		}
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		err := netlink.RouteListFilteredIter(family, &netlink.Route{}, 0, func(r netlink.Route) bool {
			add(r.Gw)
			for _, h := range r.MultiPath {
				add(h.Gw)
			}
			return true
		})
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) { // most of them are there even so
			return nil, fmt.Errorf("list the next hops, which are not to be cut off: %w", err)
		}
	}
	list := make([]netip.Addr, 0, len(found))
	for a := range found {
		list = append(list, a)
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list, nil
}

// lookAtHops has old bans drop no new next hop. False where it is too early to look.
func (g *Gateway) lookAtHops() bool {
	g.hops.mutex.Lock()
	before, early := g.hops.list, time.Now().Before(g.hops.due)
	g.hops.mutex.Unlock()
	if early {
		return false
	}
	list, err := g.hops.now()
	if err != nil {
		g.log.Warn("following the routes", "error", err)
	}
	if err == nil && !slices.Equal(before, list) {
		g.bans.spareSoon()
	}
	return true
}
