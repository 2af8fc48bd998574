package netns

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Attached lists the interfaces of a namespace that have a program for what they receive: of
// XDP, at tcx, or as a filter of clsact.
func (n *Namespace) Attached() (names []string, err error) {
	err = n.Do(func() error {
		interfaces, err := netlink.LinkList()
		if err != nil {
			return fmt.Errorf("list the interfaces: %w", err)
		}
		for _, i := range interfaces {
			a := i.Attrs()
			programs, err := atTCX(a.Index)
			if err != nil {
				return fmt.Errorf("count the programs of %s: %w", a.Name, err)
			}
			filters, err := netlink.FilterList(i, netlink.HANDLE_MIN_INGRESS)
			if err != nil {
				return fmt.Errorf("list the filters of %s: %w", a.Name, err)
			}
			if a.Xdp != nil && a.Xdp.Attached || programs > 0 || len(filters) > 0 {
				names = append(names, a.Name)
			}
		}
		return nil
	})
	return names, err
}

// atTCX counts the programs where an interface's traffic control begins (BPF_PROG_QUERY of
// bpf(2)); 0 before Linux 6.6, which has none.
func atTCX(ifindex int) (programs uint32, err error) {
	const query, ingress = 16, 46 // BPF_PROG_QUERY, BPF_TCX_INGRESS
	attr := struct {
		ifindex, attach, flags, attachFlags uint32
		ids                                 uint64
		count, _                            uint32
		_                                   [4]uint64
	}{ifindex: uint32(ifindex), attach: ingress}
	_, _, failed := unix.Syscall(unix.SYS_BPF, query, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if failed != 0 && !errors.Is(failed, unix.EINVAL) && !errors.Is(failed, unix.ENOENT) {
		return 0, failed
	}
	return attr.count, nil
}
