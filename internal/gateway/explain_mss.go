package gateway

import (
	"math"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

// What Ethernet carries, and the IPv4 and TCP headers in front of a segment (RFC 6691).
const (
	ethernetMTU = 1500
	mssHeaders  = 40
)

// mss tells where the SYNs of a flow between the two are lowered, as path_clamp of bpf/include/path_mtu.h
// does it: below what Ethernet carries, which most machines say.
func (e *explainer) mss(f flow, both ...netip.Addr) {
	configured := e.view.config.MSS
	if f.protocol != model.TCP || configured == config.MSSOff {
		return
	}
	narrow, mtu := netip.Addr{}, math.MaxInt
	for _, end := range both {
		if fits := wayMTU(end); fits < mtu {
			narrow, mtu = end, fits
		}
	}
	switch most := mtu - mssHeaders; {
	case configured != config.MSSAuto && int(configured) < min(most, ethernetMTU-mssHeaders):
		e.step("mss", "lower", "SYNs of both ends say at most %s octets, as configured", configured)
	case mtu < ethernetMTU:
		e.step("mss", "lower", "SYNs of both ends say at most %d octets: %d are the MTU of the way to %s", most, mtu, narrow)
	}
}

// wayMTU is the MTU by which the kernel forwards to an address: its interface's, or its route's where that is locked.
func wayMTU(to netip.Addr) int {
	routes, err := netlink.RouteGet(to.AsSlice())
	if err != nil || len(routes) == 0 {
		return math.MaxInt
	}
	if routes[0].MTULock && routes[0].MTU > 0 {
		return routes[0].MTU
	}
	link, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return math.MaxInt
	}
	return link.Attrs().MTU
}
