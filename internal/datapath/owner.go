package datapath

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
)

// putOwners makes the hosts that have a public address alone those of a generation that is
// to come: in the place of the one before the last, by which nothing is judged any more.
func (d *slotTable) putOwners(generation uint32, own map[netip.Addr]netip.Addr) error {
	if len(own) > d.options.Owners {
		return fmt.Errorf("%d hosts with a public address of their own, but the table was made for %d: restart the daemon", len(own), d.options.Owners)
	}
	table, turn := d.objects.OwnerTable, generation&1
	var key bpfOwner
	var other uint32
	var stale []bpfOwner
	entries := table.Iterate()
	for entries.Next(&key, &other) {
		if key.Turn == turn {
			stale = append(stale, key)
		}
	}
	if err := entries.Err(); err != nil {
		return fmt.Errorf("list the hosts with a public address of their own: %w", err)
	}
	for _, key := range stale {
		if err := table.Delete(&key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("take the public address of %s away: %w", addressOf(key.Address), err)
		}
	}
	for private, public := range own {
		for _, pair := range [][2]netip.Addr{{private, public}, {public, private}} {
			key := bpfOwner{Address: networkOrder(pair[0]), Turn: turn}
			if err := table.Put(&key, networkOrder(pair[1])); err != nil {
				return fmt.Errorf("give %s its public address: %w", private, err)
			}
		}
	}
	return nil
}
