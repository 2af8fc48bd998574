package machine

import (
	"maps"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Who does not answer is asked again for as long as packets come, and does not answer meanwhile either.
func TestWhoIsAskedDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for state, want := range map[int]bool{
		netlink.NUD_NONE: true, netlink.NUD_INCOMPLETE: false, netlink.NUD_REACHABLE: true, netlink.NUD_STALE: true, netlink.NUD_DELAY: true,
		netlink.NUD_PROBE: true, netlink.NUD_FAILED: false, netlink.NUD_NOARP: true, netlink.NUD_PERMANENT: true,
	} {
		if got := answers(state); got != want {
			t.Errorf("state %#x: %v, want %v", state, got, want)
		}
	}
}

// A next hop is down where a route leads to it, whatever the kernel knows of its address on other links.
func TestNextHopIsOfALink(t *testing.T) {
	t.Parallel()
	one, other := netip.MustParseAddr("198.18.0.254"), netip.MustParseAddr("fe80::1")
	var m Machine
	m.hops.found = NextHops{Addresses: []netip.Addr{one, other}, neighbours: []datapath.Neighbour{{Link: 2, Address: one}, {Link: 2, Address: other}, {Link: 3, Address: other}}}
	for about, c := range map[string]struct {
		failed datapath.Neighbour
		want   map[netip.Addr]bool
	}{
		"on its link":          {datapath.Neighbour{Link: 2, Address: one}, map[netip.Addr]bool{one: false, other: true}},
		"on another link":      {datapath.Neighbour{Link: 3, Address: one}, map[netip.Addr]bool{one: true, other: true}},
		"on one of both links": {datapath.Neighbour{Link: 3, Address: other}, map[netip.Addr]bool{one: true, other: false}},
	} {
		if got := m.up(map[datapath.Neighbour]bool{c.failed: true}); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v", about, got)
		}
	}
}
