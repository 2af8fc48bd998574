package collect

import (
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/doctor"
	"github.com/realmgate/realmgate/internal/netdev"
)

// interfaces looks at those of the configuration that are there; served is how a gateway that runs has them.
func interfaces(c *config.Config, served []doctor.Interface) (list []doctor.Interface) {
	links, _ := netlink.LinkList() // most of them are there even so
	for _, side := range []struct {
		name  string
		names []string
	}{{"public", c.Interfaces.Public}, {"private", c.Interfaces.Private}} {
		for _, name := range side.names {
			at := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Attrs().Name == name })
			if at < 0 {
				continue // said elsewhere
			}
			i := inspect(links[at], links)
			i.Side, i.XDP = side.name, slices.Contains(c.Interfaces.XDP, name)
			if n := slices.IndexFunc(served, func(s doctor.Interface) bool { return s.Name == name }); n >= 0 {
				i.Mode = served[n].Mode
			}
			list = append(list, i)
		}
	}
	return list
}

func inspect(link netlink.Link, all []netlink.Link) doctor.Interface {
	a := link.Attrs()
	i := doctor.Interface{Name: a.Name, Driver: cmp.Or(netdev.Driver(a.Name), link.Type()), MTU: a.MTU, Forwards: setting(a.Name, "forwarding") == 1,
		ReversePath: max(setting(a.Name, "rp_filter"), setting("all", "rp_filter"))}
	if features, known, err := netdev.XDPFeatures(a.Index); err == nil && known {
		i.Known, i.Native, i.Redirects = true, features.RunsPrograms(), features.TakesRedirects()
	}
	if r, err := netdev.Receives(a.Name); err == nil {
		i.LRO, i.StripsVLAN = r.LRO, r.StripsVLAN
	}
	for _, l := range all {
		if l.Attrs().ParentIndex == a.Index && l.Type() == "vlan" {
			i.VLANs = append(i.VLANs, l.Attrs().Name)
		}
	}
	return i
}

// setting is one of net.ipv4.conf; 0 where it cannot be read.
func setting(ifname, key string) int {
	text, _ := os.ReadFile(filepath.Join("/proc/sys/net/ipv4/conf", ifname, key))
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// How long a next hop has to answer, which the kernel asks three times a second apart, and how often its entry is looked at.
const (
	hopAnswers = 3500 * time.Millisecond
	hopLook    = 50 * time.Millisecond
)

// defaultHops are the routers of the default routes; one is none where a route has an interface alone.
func defaultHops() (list []hop, err error) {
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Dst: nil}, netlink.RT_FILTER_DST)
	if err != nil {
		return nil, err
	}
	for _, route := range routes {
		for _, next := range append([]*netlink.NexthopInfo{{LinkIndex: route.LinkIndex, Gw: route.Gw}}, route.MultiPath...) {
			link, err := netlink.LinkByIndex(next.LinkIndex)
			if err != nil {
				continue
			}
			h := hop{link: link}
			if a, ok := netip.AddrFromSlice(next.Gw.To4()); ok && link.Attrs().EncapType == "ether" {
				h.router = a
			}
			list = append(list, h)
		}
	}
	return list, nil
}

// routes looks for the way out, and has the kernel ask its next hops by ARP.
func routes(public []string) doctor.Routes {
	r := doctor.Routes{Looked: true}
	list, err := defaultHops()
	if err != nil {
		return doctor.Routes{}
	}
	hops := map[netip.Addr]int{} // by which interface
	for _, h := range list {
		name := h.link.Attrs().Name
		if !r.Default || !r.Public {
			r.Default, r.By, r.Public = true, name, slices.Contains(public, name)
		}
		if h.router.IsValid() {
			hops[h.router] = h.link.Attrs().Index
		}
	}
	for a, link := range hops {
		if !answersARP(link, a) {
			r.Dead = append(r.Dead, a)
		}
	}
	slices.SortFunc(r.Dead, netip.Addr.Compare)
	return r
}

// answersARP has the kernel find out whether a neighbour is there; where it may not, it counts as there.
func answersARP(link int, a netip.Addr) bool {
	const there = unix.NUD_REACHABLE | unix.NUD_PERMANENT | unix.NUD_NOARP
	find := func() (entry netlink.Neigh, ok bool) {
		entries, _ := netlink.NeighList(link, unix.AF_INET)
		at := slices.IndexFunc(entries, func(n netlink.Neigh) bool { return n.IP.Equal(a.AsSlice()) })
		if at < 0 {
			return entry, false
		}
		return entries[at], true
	}
	asked := netlink.Neigh{LinkIndex: link, Family: unix.AF_INET, IP: a.AsSlice(), Flags: unix.NTF_USE}
	entry, known := find()
	switch {
	case known && entry.State&there != 0:
		return true
	case known && len(entry.HardwareAddr) > 0: // it was, and is asked whether it still is
		asked.Flags, asked.State, asked.HardwareAddr = 0, unix.NUD_PROBE, entry.HardwareAddr
	}
	if err := netlink.NeighSet(&asked); err != nil {
		return true
	}
	for end := time.Now().Add(hopAnswers); time.Now().Before(end); time.Sleep(hopLook) {
		if entry, known := find(); known && entry.State&(there|unix.NUD_FAILED) != 0 {
			return entry.State&there != 0
		}
	}
	return false
}
