package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
)

// hopsPause is how many times longer than a look at the routes took it is until the next:
// tables of the whole Internet take seconds.
const hopsPause = 20

// hops are the next hops of the main routing tables, whom nothing of the protection may
// cut off.
type hops struct {
	mutex   sync.Mutex
	list    []netip.Addr // in rising order
	sharing []nextHop    // those of IPv4 that share a route
	due     time.Time    // before which they are not looked for again
}

type nextHop struct {
	link    int
	address netip.Addr
}

// now returns them, of the last look where it is too early for another.
func (h *hops) now() ([]netip.Addr, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	begun := time.Now()
	if begun.Before(h.due) {
		return h.list, nil
	}
	list, sharing, err := nextHops()
	if err != nil {
		return nil, err
	}
	taken := time.Since(begun)
	h.list, h.sharing, h.due = list, sharing, begun.Add((hopsPause+1)*taken)
	return list, nil
}

// shared returns those that share routes, as of the last look.
func (h *hops) shared() []nextHop {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.sharing
}

// nextHops are those of the main routing tables, each once.
func nextHops() (list []netip.Addr, sharing []nextHop, err error) {
	all, shared := map[netip.Addr]bool{}, map[nextHop]bool{}
	add := func(hop net.IP) netip.Addr {
		a, ok := netip.AddrFromSlice(hop)
		if ok {
			all[a.Unmap()] = true
		}
		return a.Unmap()
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		err := netlink.RouteListFilteredIter(family, &netlink.Route{}, 0, func(r netlink.Route) bool {
			add(r.Gw)
			for _, h := range r.MultiPath {
				if a := add(h.Gw); a.Is4() {
					shared[nextHop{h.LinkIndex, a}] = true
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

// askSharing has the kernel ask for the next hops that share routes: it sends nothing to
// one that failed, so it would not notice that it is back.
func (g *Gateway) askSharing() error {
	var failed error
	for _, h := range g.hops.shared() {
		if err := datapath.AskNeighbour(h.link, h.address); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// hopRemedies says that the kernel looks at no neighbour before it chooses a next hop.
func (g *Gateway) hopRemedies() []string {
	const setting = "net.ipv4.fib_multipath_use_neigh"
	value, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(setting, ".", "/"))
	if n := len(g.hops.shared()); n > 0 && err == nil && strings.TrimSpace(string(value)) == "0" {
		return []string{fmt.Sprintf("%d next hops share routes, and one that fails gets its flows all the same: sysctl -w %s=1", n, setting)}
	}
	return nil
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
