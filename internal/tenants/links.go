package tenants

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
)

// links says it of what others have attached to the gateway's interfaces.
func (s *Setup) links() (list []string, err error) {
	for _, name := range s.interfaces() {
		iface, failed := netlink.LinkByName(name)
		if failed != nil { // said elsewhere
			continue
		}
		shapers, failed := s.shapers(iface)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("list the qdiscs of %s: %w", name, failed))
		}
		list = append(list, shapers...)
		if xdp := iface.Attrs().Xdp; xdp != nil && xdp.Attached && s.IsOurs != nil && !s.IsOurs(xdp.ProgId) {
			list = append(list, fmt.Sprintf("XDP program %d of somebody else sees the packets of %s before the gateway: ip link set dev %[2]s %s off",
				xdp.ProgId, name, xdpMode(xdp.AttachMode)))
		}
	}
	return list, err
}

// xdpMode is what ip calls a mode of attaching (XDP_ATTACHED of linux/if_link.h): without it ip looks in the driver alone.
func xdpMode(mode uint32) string {
	return map[uint32]string{1: "xdpdrv", 2: "xdpgeneric", 3: "xdpoffload"}[mode]
}

// shapers names a qdisc that somebody put there: those that the kernel makes itself have no handle.
func (s *Setup) shapers(iface netlink.Link) (list []string, err error) {
	name := iface.Attrs().Name
	if !s.XDP || slices.Contains(s.Stack, name) {
		return nil, nil
	}
	qdiscs, err := netlink.QdiscList(iface)
	for _, q := range qdiscs {
		if a := q.Attrs(); a.Parent == netlink.HANDLE_ROOT && a.Handle != 0 && !strings.HasPrefix(q.Type(), "noqueue") {
			list = append(list, fmt.Sprintf("qdisc %s of %s shapes none of the packets that XDP redirects there: "+
				"set interfaces.egress.stack: [%s] and restart, or tc qdisc delete dev %[2]s root", q.Type(), name,
				strings.Join(append(slices.Clone(s.Stack), name), ", ")))
		}
	}
	return list, err
}
