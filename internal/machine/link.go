package machine

import (
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
)

// LinkTo is the interface by which the kernel sends to an address, 0 for none.
func LinkTo(a netip.Addr) int {
	routes, err := netlink.RouteGet(a.AsSlice())
	if err != nil || len(routes) == 0 {
		return 0 // there is no way to it
	}
	return routes[0].LinkIndex
}

// LeadsInside reports whether the kernel sends to an address by one of the interfaces that is private.
func LeadsInside(a netip.Addr, interfaces func() []datapath.Interface) bool {
	link := LinkTo(a)
	return link != 0 && slices.ContainsFunc(interfaces(), func(i datapath.Interface) bool { return i.Ifindex == link && i.Side == "private" })
}
