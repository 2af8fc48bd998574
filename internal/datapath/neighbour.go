package datapath

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
)

// neighbourIdle is how long an unused next hop is still kept fresh, in ticks.
const neighbourIdle = 40

// Neighbour is who has an address on a link.
type Neighbour struct {
	Link    int // its index
	Address netip.Addr
}

// ConfirmNeighbours asks the kernel to confirm the stale neighbours that packets are
// redirected to, and of wanted also those that failed or that it does not know: it sees
// none of that traffic, and would notice neither that a link address changed nor that
// who failed is back.
func (d *core) ConfirmNeighbours(wanted []Neighbour) error {
	asked := map[Neighbour]bool{} // true: also where it failed
	tick := uint32(Now() >> tickShift)
	err := ForEach(d.objects.NextHops, func(_ uint32, hop *bpfNextHop) {
		if hop.Key.As.Ifindex != 0 && hop.Key.As.Gateway != 0 && tick-hop.Used < neighbourIdle {
			asked[Neighbour{int(hop.Key.As.Ifindex), addressOf(hop.Key.As.Gateway)}] = false
		}
	})
	if err != nil {
		return err
	}
	for _, n := range wanted {
		asked[n] = true
	}
	links := map[int]bool{}
	for n := range asked {
		links[n.Link] = true
	}
	for link := range links {
		known, err := netlink.NeighList(link, netlink.FAMILY_ALL)
		if err != nil {
			return fmt.Errorf("list the neighbours on interface %d: %w", link, err)
		}
		for i := range known {
			a, _ := netip.AddrFromSlice(known[i].IP)
			n := Neighbour{link, a.Unmap()}
			if failed, ours := asked[n]; ours && !isDoubted(&known[i], failed) {
				delete(asked, n)
			} else if ours {
				asked[n] = true
			}
		}
	}
	var failed error
	for _, n := range slices.SortedFunc(maps.Keys(asked), Neighbour.compare) {
		if asked[n] {
			failed = errors.Join(failed, n.ask())
		}
	}
	return failed
}

func (n Neighbour) compare(m Neighbour) int {
	return cmp.Or(cmp.Compare(n.Link, m.Link), n.Address.Compare(m.Address))
}

// isDoubted is whether the kernel may be asked to look for a neighbour. What somebody else
// keeps up, and what is set for good, would be so no more.
func isDoubted(n *netlink.Neigh, failed bool) bool {
	if n.Flags&netlink.NTF_EXT_LEARNED != 0 || n.FlagsExt != 0 { // managed, or validated by others
		return false
	}
	return n.State == netlink.NUD_STALE || failed && (n.State == netlink.NUD_FAILED || n.State == netlink.NUD_NONE)
}

func (n Neighbour) ask() error {
	family := netlink.FAMILY_V4
	if n.Address.Is6() {
		family = netlink.FAMILY_V6
	}
	err := netlink.NeighSet(&netlink.Neigh{LinkIndex: n.Link, IP: n.Address.AsSlice(), Family: family, Flags: netlink.NTF_USE})
	if err != nil {
		return fmt.Errorf("ask for neighbour %s on interface %d: %w", n.Address, n.Link, err)
	}
	return nil
}
