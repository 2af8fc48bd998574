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

// mostAsked bounds the next hops that the kernel is asked to look for.
const mostAsked = 1024

// NextHops are those of all routing tables.
type NextHops struct {
	Addresses  []netip.Addr         // in rising order
	neighbours []datapath.Neighbour // the same by their links, mostAsked at most
	sharing    int                  // how many share a route of IPv4
}

// hops are the next hops, whom nothing of the protection may cut off.
type hops struct {
	looking sync.Mutex // held while they are looked for
	mutex   sync.Mutex // of the rest
	found   NextHops
	due     time.Time // before which they are not looked for again
}

// now returns them, of the last look where it is too early for another.
func (h *hops) now() (NextHops, error) {
	h.looking.Lock()
	defer h.looking.Unlock()
	begun := time.Now()
	if found, early := h.last(begun); early {
		return found, nil
	}
	found, err := FindNextHops()
	if err != nil {
		return NextHops{}, err
	}
	taken := time.Since(begun)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.found, h.due = found, begun.Add((hopsPause+1)*taken)
	return found, nil
}

// last returns those of the last look, and whether it is too early for another.
func (h *hops) last(now time.Time) (found NextHops, early bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.found, now.Before(h.due)
}

// FindNextHops looks for the next hops of all routing tables, each once.
func FindNextHops() (NextHops, error) {
	addresses, neighbours, shared := map[netip.Addr]bool{}, map[datapath.Neighbour]bool{}, map[datapath.Neighbour]bool{}
	add := func(link int, gateway net.IP, via netlink.Destination) (n datapath.Neighbour, ok bool) {
		if v, ok := via.(*netlink.Via); ok && v != nil { // IPv6 for a route of IPv4
			gateway = v.Addr
		}
		a, ok := netip.AddrFromSlice(gateway)
		if n = (datapath.Neighbour{Link: link, Address: a.Unmap()}); ok {
			addresses[n.Address] = true
			if link != 0 && len(neighbours) < mostAsked {
				neighbours[n] = true
			}
		}
		return n, ok
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		err := netlink.RouteListFilteredIter(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE, func(r netlink.Route) bool {
			add(r.LinkIndex, r.Gw, r.Via)
			for _, h := range r.MultiPath {
				if n, ok := add(h.LinkIndex, h.Gw, h.Via); ok && family == netlink.FAMILY_V4 {
					shared[n] = true
				}
			}
			return true
		})
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) { // most of them are there even so
			return NextHops{}, fmt.Errorf("list the next hops, which are not to be cut off: %w", err)
		}
	}
	return NextHops{slices.SortedFunc(maps.Keys(addresses), netip.Addr.Compare), slices.Collect(maps.Keys(neighbours)), len(shared)}, nil
}

// NextHops are those of all routing tables, of the last look where it is too early for another.
func (m *Machine) NextHops() ([]netip.Addr, error) {
	found, err := m.hops.now()
	return found.Addresses, err
}

// LastNextHops are those of the last look, and whether it is too early for another.
func (m *Machine) LastNextHops() (list []netip.Addr, early bool) {
	found, early := m.hops.last(time.Now())
	return found.Addresses, early
}

// Neighbours are the next hops of the last look that the kernel has to know.
func (m *Machine) Neighbours() []datapath.Neighbour {
	found, _ := m.hops.last(time.Now())
	return found.neighbours
}

// sharing is how many next hops of the last look share a route.
func (m *Machine) sharing() int {
	found, _ := m.hops.last(time.Now())
	return found.sharing
}
