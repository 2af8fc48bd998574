package netdev

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
)

// Features are what an interface does with XDP (enum netdev_xdp_act).
type Features uint64

const (
	basic   Features = 1 << iota // it runs programs in native mode
	_                            // it lets them redirect
	ndoXmit                      // it takes redirected frames
)

// RunsPrograms says whether it runs XDP programs in native mode.
func (f Features) RunsPrograms() bool { return f&basic != 0 }

// TakesRedirects says whether frames may be redirected to it. Those that are
// redirected to another interface are lost in silence.
func (f Features) TakesRedirects() bool { return f&ndoXmit != 0 }

// genericHeader is struct genlmsghdr: command, version and two reserved bytes.
// The netlink library's own writes whatever stands in memory behind its two
// fields, and the kernel refuses that.
type genericHeader [nl.SizeofGenlmsg]byte

// Len returns the header's length in bytes.
func (genericHeader) Len() int { return nl.SizeofGenlmsg }

// Serialize returns the header's bytes.
func (h genericHeader) Serialize() []byte { return h[:] }

// XDPFeatures asks the kernel what the interface with that number does. known is
// false where the kernel cannot say (before 6.3).
func XDPFeatures(ifindex int) (features Features, known bool, err error) {
	family, err := netlink.GenlFamilyGet(netdevFamily)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find the kernel's netdev family: %w", err)
	}
	request := nl.NewNetlinkRequest(int(family.ID), 0)
	request.AddData(genericHeader{netdevCommandGet, 1})
	request.AddData(nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(ifindex))))
	messages, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return 0, false, fmt.Errorf("ask for the XDP features of interface %d: %w", ifindex, err)
	}
	for _, message := range messages {
		attributes, err := nl.ParseRouteAttr(message[nl.SizeofGenlmsg:])
		if err != nil {
			return 0, false, fmt.Errorf("read the XDP features of interface %d: %w", ifindex, err)
		}
		for _, a := range attributes {
			if a.Attr.Type&nl.NLA_TYPE_MASK == netdevXDPFeatures && len(a.Value) >= 8 {
				return Features(nl.NativeEndian().Uint64(a.Value)), true, nil
			}
		}
	}
	return 0, false, nil
}
