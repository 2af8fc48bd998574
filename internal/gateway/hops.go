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
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/api"
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
	list, sharing, err := nextHops()
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

// nextHops are those of all routing tables, each once.
func nextHops() (list []netip.Addr, sharing []datapath.Neighbour, err error) {
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

// prepareHops gives a draft the next hops of now, where the file was read.
func (g *Gateway) prepareHops(d *draft) (_ change, err error) {
	if d.read {
		d.hops, err = g.hops.now()
	} else {
		d.hops = d.before.hops
	}
	return change{}, err
}

// reportHops says that the kernel looks at no neighbour before it chooses a next hop.
func (g *Gateway) reportHops(s *api.Status) error {
	const setting = "net.ipv4.fib_multipath_use_neigh"
	value, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(setting, ".", "/"))
	if n := len(g.hops.shared()); n > 0 && err == nil && strings.TrimSpace(string(value)) == "0" {
		s.Remedies = append(s.Remedies, fmt.Sprintf("%d next hops share routes: sysctl -w %s=1, or one that fails gets its flows all the same (nexthop objects do not need it)", n, setting))
	}
	return nil
}

// lookAtHops has old bans drop no new next hop. False where it is too early to look.
func (g *Gateway) lookAtHops() bool {
	before, early := g.hops.last(time.Now())
	if early {
		return false
	}
	list, err := g.hops.now()
	if err != nil {
		g.log.Warn("following the routes", "error", err)
	}
	if err == nil && !slices.Equal(before, list) {
		g.bans.SpareSoon()
	}
	return true
}
