package machine

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
)

// hopsPause is how many times longer than a look at the routes took it is until the next:
// tables of the whole Internet take seconds.
const hopsPause = 20

// hops are the next hops of all routing tables, whom nothing of the protection may cut off.
type hops struct {
	looking sync.Mutex           // held while they are looked for
	mutex   sync.Mutex           // of the rest
	list    []netip.Addr         // in rising order
	sharing []datapath.Neighbour // those that share a route
	due     time.Time            // before which they are not looked for again
}

// now returns them, of the last look where it is too early for another.
func (h *hops) now() ([]netip.Addr, error) {
	h.looking.Lock()
	defer h.looking.Unlock()
	begun := time.Now()
	if list, early := h.last(begun); early {
		return list, nil
	}
	list, sharing, err := FindNextHops()
	if err != nil {
		return nil, err
	}
	taken := time.Since(begun)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.list, h.sharing, h.due = list, sharing, begun.Add((hopsPause+1)*taken)
	return list, nil
}

// last returns those of the last look, and whether it is too early for another.
func (h *hops) last(now time.Time) (list []netip.Addr, early bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.list, now.Before(h.due)
}

// shared returns those that share routes, as of the last look.
func (h *hops) shared() []datapath.Neighbour {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.sharing
}

// FindNextHops looks for the next hops of all routing tables, each once, and for those that share a route.
func FindNextHops() (list []netip.Addr, sharing []datapath.Neighbour, err error) {
	all, shared := map[netip.Addr]bool{}, map[datapath.Neighbour]bool{}
	add := func(gateway net.IP, via netlink.Destination) (netip.Addr, bool) {
		if v, ok := via.(*netlink.Via); ok && v != nil { // IPv6 for a route of IPv4
			gateway = v.Addr
		}
		a, ok := netip.AddrFromSlice(gateway)
		a = a.Unmap()
		if ok {
			all[a] = true
		}
		return a, ok
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		err := netlink.RouteListFilteredIter(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE, func(r netlink.Route) bool {
			add(r.Gw, r.Via)
			for _, h := range r.MultiPath {
				if a, ok := add(h.Gw, h.Via); ok && family == netlink.FAMILY_V4 {
					shared[datapath.Neighbour{Link: h.LinkIndex, Address: a}] = true
				}
			}
			return true
		})
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) { // most of them are there even so
			return nil, nil, fmt.Errorf("list the next hops, which are not to be cut off: %w", err)
		}
	}
	return slices.SortedFunc(maps.Keys(all), netip.Addr.Compare), slices.Collect(maps.Keys(shared)), nil
}

// NextHops are those of all routing tables, of the last look where it is too early for another.
func (m *Machine) NextHops() ([]netip.Addr, error) { return m.hops.now() }

// LastNextHops are those of the last look, and whether it is too early for another.
func (m *Machine) LastNextHops() (list []netip.Addr, early bool) { return m.hops.last(time.Now()) }

// SharedNextHops are those that share routes, as of the last look.
func (m *Machine) SharedNextHops() []datapath.Neighbour { return m.hops.shared() }
