package datapath

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// neighbourIdle is how long an unused next hop is still kept fresh, in ticks.
const neighbourIdle = 40

// ConfirmNeighbours asks the kernel to confirm the stale neighbours that
// packets are redirected to: it sees none of that traffic and would never
// notice that a link address changed.
func (d *Datapath) ConfirmNeighbours() error {
	type place struct {
		ifindex int
		address uint32
	}
	tick := uint32(Now() >> tickShift)
	used := map[place]bool{}
	interfaces := map[int]bool{}
	err := forEach(d.objects.NextHops, func(_ uint32, hop *bpfNextHop) {
		if hop.Ifindex != 0 && tick-hop.Used < neighbourIdle {
			used[place{int(hop.Ifindex), hop.Gateway}] = true
			interfaces[int(hop.Ifindex)] = true
		}
	})
	if err != nil {
		return err
	}
	for ifindex := range interfaces {
		neighbours, err := netlink.NeighList(ifindex, unix.AF_INET)
		if err != nil {
			return fmt.Errorf("list the neighbours on interface %d: %w", ifindex, err)
		}
		for _, n := range neighbours {
			address, ok := addressFromIP(n.IP)
			if !ok || n.State != netlink.NUD_STALE || !used[place{ifindex, networkOrder(address)}] {
				continue
			}
			if err := AskNeighbour(ifindex, address); err != nil {
				return err
			}
		}
	}
	return nil
}

// AskNeighbour has the kernel ask for a neighbour's link address, unless it is sure of it.
func AskNeighbour(ifindex int, address netip.Addr) error {
	err := netlink.NeighSet(&netlink.Neigh{LinkIndex: ifindex, IP: address.AsSlice(), Family: unix.AF_INET, Flags: netlink.NTF_USE})
	if err != nil {
		return fmt.Errorf("ask for neighbour %s on interface %d: %w", address, ifindex, err)
	}
	return nil
}
