package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Refresh brings what the programs know of interfaces and addresses up to the
// kernel's state: call it at netlink's notice and now and then. It must run in
// the gateway's network namespace.
func (d *attachment) Refresh() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.refresh()
}

func (d *attachment) refresh() error {
	errs := []error{d.followEgress()}
	for _, p := range d.ports {
		errs = append(errs, d.follow(p))
	}
	for _, p := range d.ports {
		errs = append(errs, d.writePort(p))
	}
	if len(d.ports) > 0 && !d.options.Single {
		d.followCarrier(&d.carrier)
		d.followEdgeCarrier()
	}
	return errors.Join(append(errs, forgetGone(d.objects.InterfaceTable), d.refreshOwn(), d.followOwnPorts(), d.followRules())...)
}

// follow notices that the interface was made anew, and whether frames may be
// redirected to it now.
func (d *attachment) follow(p *port) error {
	iface, err := netlink.LinkByName(p.name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return d.lose(p)
	}
	if err != nil {
		return nil //nolint:nilerr // the next refresh looks again
	}
	if iface.Attrs().Index != p.ifindex {
		d.options.Logger.Warn("interface replaced", "interface", p.name)
		if err := d.leave(p); err != nil {
			d.options.Logger.Warn("detach failed", "interface", p.name, "error", err)
		}
		return d.attachAgain(p)
	}
	if p.hold == nil { // it failed before
		return d.attachAgain(p)
	}
	takes, chosen := p.takes, p.chosen
	if err := d.look(p, iface); err != nil {
		return err
	}
	if takes != p.takes || chosen != p.chosen {
		p.refused = ""
		d.epochNext()
	}
	if mtu := iface.Attrs().MTU; mtu != p.mtu { // drivers run programs up to some
		p.mtu, p.refused = mtu, ""
	}
	if err := d.keepHost(p.name); err != nil {
		return err
	}
	return d.followMode(p)
}

// lose notes that an interface has vanished. One that has only another name keeps its
// program until there is another of the old name.
func (d *attachment) lose(p *port) error {
	if _, err := netlink.LinkByIndex(p.ifindex); err == nil || p.mode == Absent {
		return nil
	}
	d.options.Logger.Warn("interface vanished", "interface", p.name)
	err := d.leave(p)
	p.ifindex, p.mode, p.why, p.chosen, p.takes = 0, Absent, "", "", bpfRedirectREDIRECT_NOTHING
	return err
}

// attachAgain attaches while the gateway works: an interface that has no program
// forwards nothing.
func (d *attachment) attachAgain(p *port) error {
	err := d.attach(p)
	if err == nil || p.hold != nil {
		return err
	}
	return errors.Join(err, d.stopHost(p.name, p.ifindex))
}

// leave gives an interface up, for which another has taken the name. If it has
// only changed its own it gets its settings back before it loses its program; of
// one that is gone nothing may be left, because its number comes back.
func (d *attachment) leave(p *port) error {
	var err error
	if p.hold != nil {
		if p.hold.ifindex() == p.ifindex {
			err = restoreInterface(d.objects.HostTable, uint32(p.ifindex))
		}
		_ = p.hold.remove()
		p.hold = nil
	}
	_ = d.objects.InterfaceTable.Delete(uint32(p.ifindex))
	_ = d.objects.HostTable.Delete(uint32(p.ifindex))
	p.written, p.mode, p.refused = bpfInterface{}, "", ""
	return err
}

// writePort writes the interface's entry.
func (d *attachment) writePort(p *port) error {
	iface, err := netlink.LinkByIndex(p.ifindex)
	if err != nil {
		return nil //nolint:nilerr // as in follow
	}
	entry := bpfInterface{Side: uint8(p.side), Redirect: uint8(p.takes)}
	if p.bare {
		entry.Bare = 1
	}
	if slices.Contains(d.options.Stack, p.name) {
		entry.Redirect = uint8(bpfRedirectREDIRECT_NOTHING)
	}
	copy(entry.Mac[:], iface.Attrs().HardwareAddr)
	addresses, err := netlink.AddrList(iface, unix.AF_INET)
	if err != nil {
		return fmt.Errorf("list the addresses of %s: %w", p.name, err)
	}
	for _, a := range addresses {
		if ip, ok := netip.AddrFromSlice(a.IP.To4()); ok {
			entry.Address = networkOrder(ip)
			break
		}
	}
	if entry == p.written {
		return nil
	}
	if err := d.objects.InterfaceTable.Put(uint32(p.ifindex), &entry); err != nil {
		return fmt.Errorf("describe interface %s to the data plane: %w", p.name, err)
	}
	p.written = entry
	d.epochNext()
	return nil
}

// refreshOwn marks the addresses that stand on an interface of this host, and
// tells the programs which they are and of which side.
func (d *addressTable) refreshOwn() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list the host's interfaces: %w", err)
	}
	own4 := map[netip.Addr]bool{}
	own := map[bpfIn6]uint8{}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue // it has gone meanwhile
		}
		side := d.sideOf(i.Index)
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			ip := prefix.Addr().Unmap()
			own[in6(ip)] = side
			if ip.Is4() {
				own4[ip] = true
				own[in6(broadcast(prefix))] = side
			}
		}
	}
	return errors.Join(d.markLocal(own4), d.writeOwn(own))
}

// sideOf returns the side of an interface of the gateway, 0 for other ones.
func (d *addressTable) sideOf(ifindex int) uint8 {
	for _, p := range d.ports {
		if p.ifindex == ifindex {
			return uint8(p.side)
		}
	}
	return 0
}

// broadcast returns the last address of an IPv4 network.
func broadcast(network netip.Prefix) netip.Addr {
	b := network.Masked().Addr().As4()
	hosts := ^uint32(0) >> network.Bits() // a shift by 32 gives 0
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|hosts)
	return netip.AddrFrom4(b)
}

func (d *addressTable) writeOwn(own map[bpfIn6]uint8) error {
	var key bpfIn6
	var side uint8
	var gone []bpfIn6
	table := d.objects.OwnAddresses
	for entries := table.Iterate(); entries.Next(&key, &side); {
		if _, ok := own[key]; !ok {
			gone = append(gone, key)
		}
	}
	for _, key := range gone {
		_ = table.Delete(&key)
	}
	for key, side := range own {
		if err := table.Put(&key, side); err != nil {
			return fmt.Errorf("note an address of the gateway: %w", err)
		}
	}
	return nil
}
