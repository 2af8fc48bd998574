package datapath

import (
	"fmt"
	"net/netip"
	"slices"
)

// addressEntry is an address that is answered for as written to address_table.
type addressEntry = bpfAddress

// SetAddresses makes pool the addresses of the circular pool, dnat those that
// take packets for chains alone, and own those that are a host's alone, next to the outbound addresses; an address may be of the
// pool and outbound. One that leaves takes no packets any more, not even those of sessions
// that stand.
func (d *addressTable) SetAddresses(pool, dnat []netip.Addr, own ...netip.Addr) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(pool) > 0 {
		if err := d.lend(); err != nil {
			return err
		}
	}
	d.pool, d.dnat, d.own = pool, dnat, own
	return d.putAddresses()
}

// SetWebAddresses makes web the addresses that names share, next to those of SetAddresses; an address may be of the web and
// outbound. One that leaves takes no packets any more, either, unless it is outbound still.
func (d *addressTable) SetWebAddresses(web []netip.Addr) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(web) > 0 {
		if err := d.serve(); err != nil {
			return err
		}
	}
	d.web = web
	return d.putAddresses()
}

// putAddresses makes the table what it is to be.
func (d *addressTable) putAddresses() error {
	slots, err := d.Slots()
	if err != nil {
		return err
	}
	wanted := make(map[netip.Addr]addressEntry, len(d.pool)+len(d.dnat)+len(d.own)+len(d.web)+len(slots))
	for _, a := range d.pool {
		wanted[a] = addressEntry{Kind: uint8(bpfAddressKindADDRESS_POOL)}
	}
	for _, a := range d.dnat {
		wanted[a] = addressEntry{Kind: uint8(bpfAddressKindADDRESS_DNAT)}
	}
	for _, a := range d.own {
		wanted[a] = addressEntry{Kind: uint8(bpfAddressKindADDRESS_OWN)}
	}
	for _, a := range d.web {
		entry := addressEntry{Kind: uint8(bpfAddressKindADDRESS_WEB)}
		d.promise(a).put(&entry)
		wanted[a] = entry
	}
	for _, s := range slots {
		if s.State != SlotLive {
			continue
		}
		entry := addressEntry{Kind: uint8(bpfAddressKindADDRESS_OUTBOUND), Number: uint8(s.Number), Group: s.group}
		if slices.Contains(d.pool, s.Address) {
			entry.Lends = 1
		}
		if slices.Contains(d.web, s.Address) {
			d.promise(s.Address).put(&entry)
		}
		wanted[s.Address] = entry
	}
	if len(wanted) > d.options.Addresses {
		return fmt.Errorf("%d pool, outbound, dnat, one-to-one and web addresses, but the table was made for %d: restart the daemon",
			len(wanted), d.options.Addresses)
	}
	for a := range d.known { // first, so that the table need not hold both
		if _, ok := wanted[a]; !ok {
			if err := d.objects.AddressTable.Delete(networkOrder(a)); err != nil {
				return fmt.Errorf("take address %s out of the data plane: %w", a, err)
			}
			delete(d.known, a)
		}
	}
	for a, entry := range wanted {
		if old, ok := d.known[a]; ok {
			entry.Local = old.Local
			if entry == old {
				continue
			}
		}
		if err := d.writeAddress(a, entry); err != nil {
			return err
		}
	}
	return d.refreshOwn()
}

func (d *addressTable) writeAddress(a netip.Addr, entry addressEntry) error {
	if err := d.objects.AddressTable.Put(networkOrder(a), &entry); err != nil {
		return fmt.Errorf("tell the data plane of address %s: %w", a, err)
	}
	d.known[a] = entry
	return nil
}

// markLocal notes which of the addresses stand on an interface: there the
// kernel answers ARP, and its sockets come first.
func (d *addressTable) markLocal(own map[netip.Addr]bool) error {
	for a, entry := range d.known {
		local := uint8(0)
		if own[a] {
			local = 1
		}
		if entry.Local == local {
			continue
		}
		entry.Local = local
		if err := d.writeAddress(a, entry); err != nil {
			return err
		}
	}
	return nil
}

// readAddresses learns after an adoption what stands in the table.
func (d *addressTable) readAddresses() error {
	var key uint32
	var entry addressEntry
	entries := d.objects.AddressTable.Iterate()
	for entries.Next(&key, &entry) {
		a := addressOf(key)
		d.known[a] = entry
		switch {
		case bpfAddressKind(entry.Kind) == bpfAddressKindADDRESS_POOL || entry.Lends != 0:
			d.pool = append(d.pool, a)
			d.lends.Store(true)
		case bpfAddressKind(entry.Kind) == bpfAddressKindADDRESS_DNAT:
			d.dnat = append(d.dnat, a)
		case bpfAddressKind(entry.Kind) == bpfAddressKindADDRESS_OWN:
			d.own = append(d.own, a)
		}
		if entry.Mss != 0 {
			d.web = append(d.web, a)
			d.serves.Store(true)
			d.promises[a] = promiseOf(entry.Mss, uint32(entry.Promises))
		}
	}
	return entries.Err()
}

// in6 converts an address to the programs' form; IPv4 becomes mapped.
func in6(a netip.Addr) bpfIn6 {
	b := a.As16()
	var out bpfIn6
	for i := range out.Word {
		out.Word[i] = networkOrder(netip.AddrFrom4([4]byte(b[4*i : 4*i+4])))
	}
	return out
}
