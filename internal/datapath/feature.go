package datapath

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Generic netlink family "netdev" (Linux 6.3; include/uapi/linux/netdev.h).
const (
	netdevFamily      = "netdev"
	netdevCommandGet  = 1
	netdevIfindex     = 1
	netdevXDPFeatures = 3
	xdpFeatureNDOXmit = 1 << 2
)

// genericHeader is struct genlmsghdr: command, version and two reserved bytes.
// The netlink library's own writes whatever stands in memory behind its two
// fields, and the kernel refuses that.
type genericHeader [nl.SizeofGenlmsg]byte

// Len returns the header's length in bytes.
func (genericHeader) Len() int { return nl.SizeofGenlmsg }

// Serialize returns the header's bytes.
func (h genericHeader) Serialize() []byte { return h[:] }

// takesRedirects asks the kernel whether frames may be redirected to the
// interface. known is false where the kernel cannot say (before 6.3).
func takesRedirects(ifindex int) (takes, known bool, err error) {
	family, err := netlink.GenlFamilyGet(netdevFamily)
	if errors.Is(err, unix.ENOENT) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("find the kernel's netdev family: %w", err)
	}
	request := nl.NewNetlinkRequest(int(family.ID), 0)
	request.AddData(genericHeader{netdevCommandGet, 1})
	request.AddData(nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(ifindex))))
	messages, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return false, false, fmt.Errorf("ask for the XDP features of interface %d: %w", ifindex, err)
	}
	for _, message := range messages {
		for a := range nl.ParseAttributes(message[nl.SizeofGenlmsg:]) {
			if a.Type&nl.NLA_TYPE_MASK == netdevXDPFeatures && len(a.Value) >= 8 {
				return nl.NativeEndian().Uint64(a.Value)&xdpFeatureNDOXmit != 0, true, nil
			}
		}
	}
	return false, false, nil
}
