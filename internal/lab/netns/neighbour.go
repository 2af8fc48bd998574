package netns

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Neighbour says, for good, which Ethernet address has the IP address on an
// interface.
func (l *links) Neighbour(ifname string, ip netip.Addr, mac net.HardwareAddr) error {
	add := func(link netlink.Link) error {
		return netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, State: unix.NUD_PERMANENT, IP: ip.AsSlice(), HardwareAddr: mac,
		})
	}
	if err := l.withLink(ifname, add); err != nil {
		return fmt.Errorf("set neighbour %s on %s in %s: %w", ip, ifname, l.name, err)
	}
	return nil
}

// Index returns an interface's number.
func (l *links) Index(ifname string) (int, error) {
	var index int
	err := l.withLink(ifname, func(link netlink.Link) error {
		index = link.Attrs().Index
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("number of %s in %s: %w", ifname, l.name, err)
	}
	return index, nil
}
