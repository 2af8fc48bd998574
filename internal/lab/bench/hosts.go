package bench

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Hosts lets programs inside and outside use sockets: the inside has PrivateNextHop
// and all Sources, the outside PublicNextHop and all Destinations, and all else is
// behind the device. It may be called again. Where the rig is not laid here the
// error is ErrUnsupported.
func (r *Rig) Hosts() error {
	if r.hosts {
		return nil
	}
	if r.Inside == nil {
		return fmt.Errorf("%w: nothing here runs programs on both sides of an external device", ErrUnsupported)
	}
	r.hosts = true
	return errors.Join(
		host(r.Inside, insideInterface, netip.PrefixFrom(PrivateNextHop, PrivateAddress.Bits()), PrivateAddress.Addr(), r.Private.MAC, Sources),
		host(r.Outside, outsideInterface, netip.PrefixFrom(PublicNextHop, PublicAddress.Bits()), PublicAddress.Addr(), r.Public.MAC, Destinations))
}

// host needs no ARP, which the null device would not answer.
func host(n *netns.Namespace, ifname string, address netip.Prefix, router netip.Addr, mac net.HardwareAddr, local netip.Prefix) error {
	return errors.Join(n.Address(ifname, address.String()), n.Neighbour(ifname, router, mac), n.Route("default", router.String()),
		n.Do(func() error {
			loopback, err := netlink.LinkByName("lo")
			if err != nil {
				return fmt.Errorf("find the loopback: %w", err)
			}
			return netlink.RouteAdd(&netlink.Route{
				Dst: &net.IPNet{IP: local.Addr().AsSlice(), Mask: net.CIDRMask(local.Bits(), 32)}, LinkIndex: loopback.Attrs().Index,
				Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST,
			})
		}))
}
