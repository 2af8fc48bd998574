package netdev

import (
	"slices"

	"github.com/vishvananda/netlink"
)

// bare are the kinds of hardware (ARPHRD_* of linux/if_arp.h, as netlink names them) from
// which the kernel takes packets without a link header, and which it gives them so
// (dev_is_mac_header_xmit).
var bare = []string{"none", "ppp", "tunnel", "ipip", "tunnel6", "sit", "gre", "pimreg", "void", "unknown519", "unknown823"} // rawip, gre6

// IsBare says whether packets of the interface have no link header: tun, PPP, WireGuard.
func IsBare(iface netlink.Link) bool { return slices.Contains(bare, iface.Attrs().EncapType) }

// IsEthernet says whether they are frames of Ethernet.
func IsEthernet(iface netlink.Link) bool { return iface.Attrs().EncapType == "ether" }
