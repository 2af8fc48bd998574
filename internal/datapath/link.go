package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
)

// linkOf tells where a link hangs; ifindex is 0 when its interface is gone.
func linkOf(l link.Link) (mode Mode, ifindex int, err error) {
	info, err := l.Info()
	switch {
	case err != nil:
		return "", 0, err
	case info.XDP() != nil:
		return XDP, int(info.XDP().Ifindex), nil
	case info.TCX() != nil:
		return TCX, int(info.TCX().Ifindex), nil
	}
	return "", 0, fmt.Errorf("a link of type %d is none of ours", info.Type)
}

// hangsAt reports whether the link is at the interface with that number in this network
// namespace: numbers say little, and programs tell.
func hangsAt(l link.Link, ifindex int) bool {
	info, err := l.Info()
	if err != nil {
		return false
	}
	if info.XDP() != nil {
		xdp := xdpOf(ifindex)
		return xdp != nil && xdp.ProgId == uint32(info.Program)
	}
	result, err := link.QueryPrograms(link.QueryOptions{Target: ifindex, Attach: ebpf.AttachTCXIngress})
	return err == nil && slices.ContainsFunc(result.Programs, func(p link.AttachedProgram) bool { return p.ID == info.Program })
}

// xdpOf is what netlink says of the XDP program of an interface, nil without one.
func xdpOf(ifindex int) *netlink.LinkXdp {
	iface, err := netlink.LinkByIndex(ifindex)
	if err != nil || iface.Attrs().Xdp == nil || !iface.Attrs().Xdp.Attached {
		return nil
	}
	return iface.Attrs().Xdp
}

// isNative reports whether the interface's XDP program runs in its driver.
func isNative(ifindex int) bool {
	const skb = 2 // XDP_ATTACHED_SKB of linux/if_link.h
	xdp := xdpOf(ifindex)
	return xdp != nil && xdp.AttachMode != skb
}

// discardPorts detaches what an earlier daemon attached to interfaces that are
// not the gateway's any more.
func (d *filterSet) discardPorts() error {
	if d.directory == "" {
		return nil
	}
	wanted := map[string]bool{}
	for _, p := range d.ports {
		wanted[p.name] = true
	}
	pinned, _ := filepath.Glob(d.pinPath(entering.pins + "*"))
	for _, path := range pinned {
		if wanted[strings.TrimPrefix(filepath.Base(path), entering.pins)] {
			continue
		}
		if old, err := link.LoadPinnedLink(path, nil); err == nil {
			if _, ifindex, err := linkOf(old); err == nil && ifindex != 0 {
				_ = restoreInterface(d.objects.HostTable, uint32(ifindex))
			}
			_ = linked{old}.remove()
		}
		_ = os.Remove(path)
	}
	var errs []error
	for _, f := range d.leftFilters(entering) {
		if !wanted[f.name] || !f.isNamed() {
			errs = append(errs, restoreInterface(d.objects.HostTable, uint32(f.index)), f.remove())
		}
	}
	return errors.Join(errs...)
}

// restoreDiscarded puts back the settings of the interfaces to which a data plane
// that cannot be adopted is attached. What it changed in another network
// namespace is out of reach.
func (d *filterSet) restoreDiscarded() error {
	table, err := ebpf.LoadPinnedMap(filepath.Join(d.directory, "host_table"), nil)
	if err != nil {
		return nil //nolint:nilerr // nothing is remembered
	}
	defer table.Close()
	var errs []error
	for _, f := range d.leftFilters(entering) {
		errs = append(errs, restoreInterface(table, uint32(f.index)), f.remove())
	}
	for _, f := range d.leftFilters(leaving) {
		errs = append(errs, f.remove())
	}
	pinned, _ := filepath.Glob(d.pinPath(entering.pins + "*"))
	for _, path := range pinned {
		old, err := link.LoadPinnedLink(path, nil)
		if err != nil {
			continue
		}
		_, ifindex, err := linkOf(old)
		here := err == nil && ifindex != 0 && hangsAt(old, ifindex)
		_ = old.Close()
		if here {
			errs = append(errs, restoreInterface(table, uint32(ifindex)))
		}
	}
	return errors.Join(errs...)
}
