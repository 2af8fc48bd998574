package trafficgen

import (
	"math"
	"time"
)

// Latency is a histogram of delays with 32 buckets for each power of two: what
// it returns is right within 1/32.
type Latency struct {
	Buckets []uint64 // see trafficgen_limit in bpf/trafficgen/plan.h
}

// Count returns how many delays were seen.
func (l Latency) Count() uint64 {
	var all uint64
	for _, n := range l.Buckets {
		all += n
	}
	return all
}

// Quantile returns the delay that a share of all, 0 to 1, do not exceed. Without
// any it returns 0.
func (l Latency) Quantile(share float64) time.Duration {
	wanted := uint64(math.Ceil(share * float64(l.Count())))
	var seen uint64
	for bucket, n := range l.Buckets {
		if seen += n; n > 0 && seen >= wanted {
			return BucketStart(bucket)
		}
	}
	return 0
}

// BucketStart returns the shortest delay that a bucket counts.
func BucketStart(bucket int) time.Duration {
	power, rest := bucket/32, bucket%32
	if power == 0 {
		return time.Duration(rest)
	}
	return time.Duration(32+rest) << (power - 1)
}
