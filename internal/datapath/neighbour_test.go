package datapath

import (
	"testing"

	"github.com/vishvananda/netlink"
)

// The kernel is asked for stale neighbours, and for failed ones where that is wanted, but
// not for what others keep up: permanent, learned, managed (1) or validated (1<<1, 1<<2)
// entries.
func TestIsDoubted(t *testing.T) {
	for _, c := range []struct {
		neigh        netlink.Neigh
		used, wanted bool
	}{
		{netlink.Neigh{State: netlink.NUD_STALE}, true, true},
		{netlink.Neigh{State: netlink.NUD_FAILED}, false, true},
		{netlink.Neigh{State: netlink.NUD_NONE}, false, true},
		{netlink.Neigh{State: netlink.NUD_REACHABLE}, false, false},
		{netlink.Neigh{State: netlink.NUD_PROBE}, false, false},
		{netlink.Neigh{State: netlink.NUD_INCOMPLETE}, false, false},
		{netlink.Neigh{State: netlink.NUD_PERMANENT}, false, false},
		{netlink.Neigh{State: netlink.NUD_NOARP}, false, false},
		{netlink.Neigh{State: netlink.NUD_STALE, Flags: netlink.NTF_ROUTER}, true, true},
		{netlink.Neigh{State: netlink.NUD_STALE, Flags: netlink.NTF_EXT_LEARNED}, false, false},
		{netlink.Neigh{State: netlink.NUD_FAILED, Flags: netlink.NTF_EXT_LEARNED}, false, false},
		{netlink.Neigh{State: netlink.NUD_STALE, FlagsExt: netlink.NTF_EXT_MANAGED}, false, false},
		{netlink.Neigh{State: netlink.NUD_STALE, FlagsExt: 1 << 2}, false, false},
	} {
		if used, wanted := isDoubted(&c.neigh, false), isDoubted(&c.neigh, true); used != c.used || wanted != c.wanted {
			t.Errorf("state %d, flags %d and %d: %t, and %t where it is wanted", c.neigh.State, c.neigh.Flags, c.neigh.FlagsExt, used, wanted)
		}
	}
}
