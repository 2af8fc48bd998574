package datapath

import (
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/netdev"
)

// Bits of enum netdev_xdp_act (include/uapi/linux/netdev.h).
const (
	runs  netdev.Features = 1
	takes netdev.Features = 4
)

// ice, i40e, bnxt and virtio_net say that they take redirected frames only once a program is attached.
func TestChooseOfCards(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wanted   Mode
		kind     string
		features netdev.Features
		known    bool
		want     Mode
		confirms bool // where a program is attached, it keeps it
	}{
		"a card that takes frames later":  {Auto, physical, runs, true, XDP, false},
		"a card that takes frames at all": {Auto, physical, runs | takes, true, XDP, true},
		"a card, said":                    {XDP, physical, runs, true, XDP, false},
		"a card without XDP":              {XDP, physical, 0, true, TCX, false},
		"a card of an old kernel":         {Auto, physical, 0, false, XDP, true},
		"a veth":                          {Auto, "veth", runs | takes, true, TCX, true},
		"a veth, said":                    {XDP, "veth", runs | takes, true, XDP, true},
		"a veth that loses frames, said":  {XDP, "veth", runs, true, TCX, false},
		"a card, kept from XDP":           {TCX, physical, runs | takes, true, TCX, true},
	} {
		mode, why := choose(c.wanted, c.kind, false, c.features, c.known)
		if mode != c.want || why == "" {
			t.Errorf("%s: %s, %q, want %s", name, mode, why, c.want)
		}
		if err := confirm(c.features, c.known); (err == nil) != c.confirms {
			t.Errorf("%s: once attached: %v", name, err)
		}
	}
}

// Links that this kernel has no device for, as netlink would describe them, and those that it has: which form serves them,
// and what may be redirected to them.
func TestKindsOfLinks(t *testing.T) {
	t.Parallel()
	const none, buffers, frames = bpfRedirectREDIRECT_NOTHING, bpfRedirectREDIRECT_BUFFERS, bpfRedirectREDIRECT_FRAMES
	for name, c := range map[string]struct {
		link     netlink.Link
		encap    string
		wanted   Mode
		features netdev.Features
		mode     Mode
		takes    bpfRedirect
	}{
		"a bridge":                       {&netlink.Bridge{}, "ether", Auto, 0, TCX, buffers},
		"a bridge, said to be XDP's":     {&netlink.Bridge{}, "ether", XDP, 0, TCX, buffers},
		"a bond":                         {&netlink.Bond{}, "ether", Auto, runs | takes, TCX, frames},
		"a bond, said to be XDP's":       {&netlink.Bond{}, "ether", XDP, runs | takes, XDP, frames},
		"a bond of ports without XDP":    {&netlink.Bond{}, "ether", XDP, 0, TCX, buffers},
		"a VLAN":                         {&netlink.Vlan{}, "ether", Auto, 0, TCX, buffers},
		"PPP":                            {&netlink.GenericLink{LinkType: "ppp"}, "ppp", Auto, 0, TCX, buffers},
		"PPP, said to be XDP's":          {&netlink.GenericLink{LinkType: "ppp"}, "ppp", XDP, 0, TCX, buffers},
		"WireGuard":                      {&netlink.Wireguard{}, "none", Auto, 0, TCX, buffers},
		"a tun":                          {&netlink.Tuntap{}, "none", Auto, runs | takes, TCX, buffers},
		"a tap":                          {&netlink.Tuntap{}, "ether", Auto, runs | takes, TCX, frames},
		"a modem with raw IP":            {&netlink.Device{}, "unknown519", Auto, 0, TCX, buffers},
		"IPIP":                           {&netlink.Iptun{}, "ipip", Auto, 0, TCX, buffers},
		"a card whose frames are others": {&netlink.Device{}, "infiniband", Auto, 0, TCX, none},
	} {
		c.link.Attrs().EncapType = c.encap
		bare, kind := netdev.IsBare(c.link), c.link.Type()
		mode, why := choose(c.wanted, kind, bare, c.features, true)
		got := redirects(kind, bare, netdev.IsEthernet(c.link), c.features, true)
		if mode != c.mode || why == "" || got != c.takes {
			t.Errorf("%s: %s, because %q, takes %d", name, mode, why, got)
		}
	}
}
