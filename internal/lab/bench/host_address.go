package bench

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/netdev"
)

// address is one that an interface has for a run.
type address struct {
	Interface string       `json:"interface"`
	Prefix    netip.Prefix `json:"prefix"`
	Namespace uint64       `json:"namespace"` // inode of the network namespace
}

// addAddress gives an interface an address until Restore, unless it has it.
func (h *Host) addAddress(link netlink.Link, prefix netip.Prefix) error {
	fail := func(err error) error { return fmt.Errorf("give %s the address %s: %w", link.Attrs().Name, prefix, err) }
	namespace, err := netdev.Namespace()
	if err != nil {
		return fail(err)
	}
	has, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return fail(err)
	}
	for _, a := range has {
		if a.IPNet.String() == prefix.String() {
			return nil
		}
	}
	h.before = append(h.before, setting{Address: &address{link.Attrs().Name, prefix, namespace}})
	if err := h.save(); err != nil {
		return err
	}
	parsed, err := netlink.ParseAddr(prefix.String())
	if err == nil {
		err = netlink.AddrAdd(link, parsed)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// here reports whether this process is where the interface is.
func (a *address) here() bool {
	namespace, err := netdev.Namespace()
	return err == nil && namespace == a.Namespace
}

// remove is content when the address or its interface has gone.
func (a *address) remove() error {
	link, err := netlink.LinkByName(a.Interface)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	var parsed *netlink.Addr
	if err == nil {
		parsed, err = netlink.ParseAddr(a.Prefix.String())
	}
	if err == nil {
		err = netlink.AddrDel(link, parsed)
	}
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return fmt.Errorf("take the address %s from %s: %w", a.Prefix, a.Interface, err)
	}
	return nil
}
