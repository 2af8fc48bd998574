package datapath

import "fmt"

// shares are which slot each share of the hosts leaves by.
type shares bpfShares

func (d *shareTable) shares() (*shares, error) {
	s := &shares{}
	if err := d.objects.ShareTable.Lookup(uint32(0), (*bpfShares)(s)); err != nil {
		return nil, fmt.Errorf("read by which outbound addresses hosts leave: %w", err)
	}
	return s, nil
}

// HostShares are which part of all possible hosts leaves by each slot.
func (d *shareTable) HostShares() (parts map[int]float64, err error) {
	s, err := d.shares()
	if err != nil {
		return nil, err
	}
	parts = map[int]float64{}
	for _, slot := range s.Slot {
		parts[int(slot)] += 1.0 / float64(len(s.Slot))
	}
	return parts, nil
}

func (d *shareTable) writeShares(s *shares) error {
	if err := d.objects.ShareTable.Put(uint32(0), (*bpfShares)(s)); err != nil {
		return fmt.Errorf("write by which outbound addresses hosts leave: %w", err)
	}
	return nil
}

// ShareOf is share_of of bpf/nat/slot.h: the share of a private address, which is in network order.
func (d *shareTable) ShareOf(private uint32) int {
	return int(d.Hash(uint64(private), 0) >> (64 - shareBits))
}

// Hash is hash_words of bpf/conntrack/index.h.
func (d *core) Hash(a, b uint64) uint64 {
	h := (a ^ d.layout.Seed[0]) * 0x9fb21c651e98df25
	h ^= h >> 32
	h = (h + (b ^ d.layout.Seed[1])) * 0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0x9fb21c651e98df25
	return h ^ h>>32
}

// groupOfShare is group_of of bpf/nat/slot.h.
func groupOfShare(share, groups int) int { return share * groups >> shareBits }

// assign gives each share a slot that lives, of its own group if there is one. A share stays
// where it is while that slot lives; but one that is idle goes where fewer are. idle may be nil.
func (s *shares) assign(slots []Slot, groups int, idle func(share int) bool) {
	for first := 0; first < len(s.Slot); {
		group := groupOfShare(first, groups)
		end := first
		for end < len(s.Slot) && groupOfShare(end, groups) == group {
			end++
		}
		s.assignGroup(first, end, ownersOf(slots, uint8(group)), livesIn(slots), idle)
		first = end
	}
}

// ownersOf are the slots that shares of a group should have: its own that live, else all that do.
func ownersOf(slots []Slot, group uint8) (own []uint8) {
	var all []uint8
	for _, s := range slots {
		if s.State != SlotLive {
			continue
		}
		all = append(all, uint8(s.Number))
		if s.group == group {
			own = append(own, uint8(s.Number))
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

func livesIn(slots []Slot) (lives [noSlot + 1]bool) {
	for _, s := range slots {
		lives[s.Number] = s.State == SlotLive
	}
	return lives
}

func (s *shares) assignGroup(first, end int, owners []uint8, lives [noSlot + 1]bool, idle func(int) bool) {
	if len(owners) == 0 {
		for i := first; i < end; i++ {
			s.Slot[i] = noSlot
		}
		return
	}
	var owns [noSlot + 1]bool
	var has [noSlot + 1]int
	for _, o := range owners {
		owns[o] = true
	}
	for _, o := range s.Slot[first:end] {
		has[o]++
	}
	fair := (end - first + len(owners) - 1) / len(owners)
	for i := first; i < end; i++ {
		old := s.Slot[i]
		if lives[old] && (idle == nil || owns[old] && has[old] <= fair || !idle(i)) {
			continue
		}
		least := owners[0]
		for _, o := range owners {
			if has[o] < has[least] {
				least = o
			}
		}
		has[old]--
		has[least]++
		s.Slot[i] = least
	}
}

// rebalance moves shares whose hosts have no mappings to addresses that have fewer.
func (d *shareTable) rebalance(slots []Slot) error {
	old, err := d.shares()
	if err != nil {
		return err
	}
	all := *old
	if all.assign(slots, int(d.layout.Groups), func(int) bool { return true }); all == *old {
		return nil // they are spread as they should be
	}
	busy, err := d.busyShares()
	if err != nil {
		return err
	}
	next := *old
	if next.assign(slots, int(d.layout.Groups), func(share int) bool { return busy[share] == nil }); next == *old {
		return nil
	}
	if err := d.writeShares(&next); err != nil {
		return err
	}
	// A host that got a mapping meanwhile stays where that is (RFC 4787 REQ-2).
	if err := waitForPrograms(); err != nil {
		return err
	}
	if busy, err = d.busyShares(); err != nil {
		return err
	}
	stay := false
	for share, slot := range old.Slot {
		if slot != next.Slot[share] && busy[share][slot] {
			next.Slot[share], stay = slot, true
		}
	}
	if !stay {
		return nil
	}
	return d.writeShares(&next)
}

// busyShares are those whose hosts have mappings, and in which slots.
func (d *shareTable) busyShares() (map[int]map[uint8]bool, error) {
	busy := map[int]map[uint8]bool{}
	err := ForAll(d.objects.MappingTable, func(number uint32, block *bpfMappingBlock) {
		for _, word := range block.Endpoint {
			if word == 0 {
				continue
			}
			e := endpointOf(word)
			if bpfPhase(e.Phase) == bpfPhasePHASE_FREE {
				continue
			}
			share := d.ShareOf(e.Address)
			if busy[share] == nil {
				busy[share] = map[uint8]bool{}
			}
			busy[share][uint8(number*mappingBlock/ports/protocols)] = true
		}
	})
	return busy, err
}
