package dataplane

import (
	"fmt"
	"math/bits"

	"github.com/realmgate/realmgate/internal/datapath"
)

// BucketRecords is how many records a bucket has.
const BucketRecords = uint32(typesRecordBucketBUCKET_RECORDS)

const (
	pageBuckets  = uint32(typesRecordBucketPAGE_BUCKETS)
	overflowMost = uint8(typesRecordBucketOVERFLOW_MOST)
)

// recordBuckets is record_buckets_inside of bpf/conntrack/record_bucket.h: where a session may stand.
func (t *tables) recordBuckets(s *typesSession) (first, second uint32) {
	group := uint32(t.d.ShareOf(s.PrivateAddress)) * t.layout.Groups >> shareBits // group_of of bpf/nat/slot.h
	hash := t.d.Hash(uint64(group)<<32|uint64(s.RemoteAddress), uint64(s.PrivatePort)<<32|uint64(s.RemotePort)<<16|uint64(s.Protocol)<<8)
	first = uint32(hash >> 32 * uint64(t.layout.Capacity/BucketRecords+1) >> 32)
	return first, first ^ (uint32(hash)%pageBuckets | 1)
}

// usedRecords are the session records that are not free, by the bits of the table.
func (t *tables) usedRecords() (map[uint32]bool, error) {
	used := map[uint32]bool{}
	err := datapath.ForAll(t.of["session_bitmap"], func(number uint32, word *uint64) {
		for left := *word; left != 0; left &= left - 1 {
			used[number*64+uint32(bits.TrailingZeros64(left))] = true
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read which session records are used: %w", err)
	}
	return used, nil
}
