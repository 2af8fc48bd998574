package dataplane

import (
	"fmt"
	"math/bits"
)

const (
	bucketRecords = uint32(typesRecordBucketBUCKET_RECORDS)
	pageBuckets   = uint32(typesRecordBucketPAGE_BUCKETS)
	overflowMost  = uint8(typesRecordBucketOVERFLOW_MOST)
)

// recordBuckets is record_buckets_inside of bpf/conntrack/record_bucket.h: where a session may stand.
func (t *tables) recordBuckets(s *typesSession) (first, second uint32) {
	group := t.shareOf(s.PrivateAddress) * t.layout.Groups >> shareBits // group_of of bpf/nat/slot.h
	hash := t.hash(uint64(group)<<32|uint64(s.RemoteAddress), uint64(s.PrivatePort)<<32|uint64(s.RemotePort)<<16|uint64(s.Protocol)<<8)
	first = uint32(hash >> 32 * uint64(t.layout.Capacity/bucketRecords+1) >> 32)
	return first, first ^ (uint32(hash)%pageBuckets | 1)
}

// shareOf is share_of of bpf/nat/slot.h.
func (t *tables) shareOf(private uint32) uint32 {
	return uint32(t.hash(uint64(private), 0) >> (64 - shareBits))
}

// hash is hash_words of bpf/conntrack/index.h.
func (t *tables) hash(a, b uint64) uint64 {
	h := (a ^ t.layout.Seed[0]) * 0x9fb21c651e98df25
	h ^= h >> 32
	h = (h + (b ^ t.layout.Seed[1])) * 0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0x9fb21c651e98df25
	return h ^ h>>32
}

// usedRecords are the session records that are not free, by the bits of the table.
func (t *tables) usedRecords() (map[uint32]bool, error) {
	used := map[uint32]bool{}
	err := forAll(t, "session_bitmap", func(number uint32, word *uint64) {
		for left := *word; left != 0; left &= left - 1 {
			used[number*64+uint32(bits.TrailingZeros64(left))] = true
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read which session records are used: %w", err)
	}
	return used, nil
}
