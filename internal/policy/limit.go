package policy

import (
	"github.com/realmgate/realmgate/internal/model"
)

// second is one second on the clock of model.Instant.
const second = 1e9

// bucket is a token bucket in the form of a meeting time: full is the instant
// at which it will be full again. A bucket that was never used is full.
type bucket struct{ full model.Instant }

// ready reports whether the bucket, of rate tokens a second and as many in
// store, has one. No rate is no limit.
func (b *bucket) ready(now model.Instant, rate int) bool {
	if b == nil || rate <= 0 {
		return true
	}
	return max(b.full, now)+cost(rate) <= now+second
}

func (b *bucket) take(now model.Instant, rate int) { b.full = max(b.full, now) + cost(rate) }

// cost is the time in which one token grows.
func cost(rate int) model.Instant { return second / model.Instant(rate) }

// limit is the buckets of one kind of party.
type limit[K comparable] struct {
	rate    int
	buckets *table[K, bucket]
}

func newLimit[K comparable](rate int) *limit[K] {
	return &limit[K]{rate: rate, buckets: newTable[K, bucket](TableSize)}
}

func (l *limit[K]) ready(now model.Instant, k K) bool {
	return l.rate <= 0 || l.buckets.get(k).ready(now, l.rate)
}

func (l *limit[K]) take(now model.Instant, k K) {
	if l.rate > 0 {
		b, _ := l.buckets.use(k)
		b.take(now, l.rate)
	}
}
