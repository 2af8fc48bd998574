package datapath

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	homeRecords = uint32(bpfHomeHOME_RECORDS)
	pageHomes   = uint32(bpfHomePAGE_HOMES)
	awayMost    = uint8(bpfHomeAWAY_MOST)
)

// homes is homes_inside of bpf/conntrack/home.h: where a session may stand.
func (d *shareTable) homes(s *bpfSession) (first, second uint32) {
	hash := d.hash(uint64(d.groupOf(s.PrivateAddress))<<32|uint64(s.RemoteAddress), uint64(s.PrivatePort)<<32|uint64(s.RemotePort)<<16|uint64(s.Protocol)<<8)
	first = uint32(hash >> 32 * uint64(d.layout.Capacity/homeRecords+1) >> 32)
	return first, first ^ (uint32(hash)%pageHomes | 1)
}

// groupOf is group_of of bpf/nat/slot.h.
func (d *shareTable) groupOf(private uint32) uint32 {
	return uint32(groupOfShare(d.shareOf(private), int(d.layout.Groups)))
}

// hash is hash_words of bpf/conntrack/index.h.
func (d *core) hash(a, b uint64) uint64 {
	h := (a ^ d.layout.Seed[0]) * 0x9fb21c651e98df25
	h ^= h >> 32
	h = (h + (b ^ d.layout.Seed[1])) * 0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0x9fb21c651e98df25
	return h ^ h>>32
}

// usedRecords lists the session records that are not free.
func (d *core) usedRecords() ([]uint32, error) {
	table := d.objects.SessionBitmap
	memory, err := table.Memory()
	if err != nil {
		return nil, fmt.Errorf("map the bits of the sessions into memory: %w", err)
	}
	words := make([]byte, 8*table.MaxEntries())
	if _, err := memory.ReadAt(words, 0); err != nil {
		return nil, fmt.Errorf("read the bits of the sessions: %w", err)
	}
	var list []uint32
	for number := uint32(0); len(words) > 0; number, words = number+64, words[8:] {
		for word := binary.NativeEndian.Uint64(words); word != 0; word &= word - 1 {
			list = append(list, number+uint32(bits.TrailingZeros64(word)))
		}
	}
	return list, nil
}
