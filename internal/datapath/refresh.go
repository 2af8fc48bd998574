package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Refresh brings what the programs know of interfaces and addresses up to the
// kernel's state: call it at netlink's notice and now and then. It must run in
// the gateway's network namespace.
func (d *Datapath) Refresh() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.refresh()
}

func (d *Datapath) refresh() error {
	var errs []error
	allGeneric := true
	for _, p := range d.ports {
		errs = append(errs, d.follow(p))
		allGeneric = allGeneric && p.mode == Generic
	}
	for _, p := range d.ports {
		errs = append(errs, d.writePort(p, allGeneric))
	}
	return errors.Join(append(errs, d.refreshOwn())...)
}

// follow notices that the interface was made anew, and whether frames may be
// redirected to it now.
func (d *Datapath) follow(p *port) error {
	iface, err := netlink.LinkByName(p.name)
	if err != nil {
		return nil //nolint:nilerr // gone for now; the next refresh looks again
	}
	if iface.Attrs().Index != p.ifindex {
		d.options.Logger.Warn("interface was made anew, attaching again", "interface", p.name)
		if p.link != nil {
			_ = p.link.Unpin()
			_ = p.link.Close()
			p.link = nil
		}
		return d.attach(p)
	}
	takes, known, err := takesRedirects(p.ifindex)
	if err != nil || !known {
		return err
	}
	if takes != p.takes {
		d.options.Logger.Info("interface changed", "interface", p.name, "takes redirected frames", takes)
		p.takes = takes
		d.epochNext()
	}
	return nil
}

// writePort writes the interface's entry. Frames that arrive in generic mode
// can be redirected to any interface.
func (d *Datapath) writePort(p *port, allGeneric bool) error {
	iface, err := netlink.LinkByIndex(p.ifindex)
	if err != nil {
		return nil //nolint:nilerr // as in follow
	}
	entry := bpfInterface{Side: uint8(p.side)}
	if p.takes || allGeneric {
		entry.Redirect = 1
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

// refreshOwn marks the addresses that stand on an interface of this host.
func (d *Datapath) refreshOwn() error {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("list the host's addresses: %w", err)
	}
	own4 := map[netip.Addr]bool{}
	own6 := map[bpfIn6]bool{}
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		if ip := prefix.Addr().Unmap(); ip.Is4() {
			own4[ip] = true
		} else {
			own6[in6(ip)] = true
		}
	}
	return errors.Join(d.markLocal(own4), d.writeOwn6(own6))
}

func (d *Datapath) writeOwn6(own map[bpfIn6]bool) error {
	var key bpfIn6
	var value uint8
	var gone []bpfIn6
	table := d.objects.OwnAddresses6
	for entries := table.Iterate(); entries.Next(&key, &value); {
		if !own[key] {
			gone = append(gone, key)
		}
		delete(own, key)
	}
	for _, key := range gone {
		_ = table.Delete(&key)
	}
	for key := range own {
		if err := table.Put(&key, uint8(1)); err != nil {
			return fmt.Errorf("note an IPv6 address of the gateway: %w", err)
		}
	}
	return nil
}
