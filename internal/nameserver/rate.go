package nameserver

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	rateBuckets = 1 << 16 // networks share one where their hashes do, at worst they are told to come by TCP
	rateDefault = 16384   // octets a second
	rateBurst   = 2 * time.Second
	rateBits4   = 24 // networks that count as one: a victim's neighbours share its line
	rateBits6   = 56
)

// rate bounds by how much static answers over UDP exceed their questions, for
// each network: the source may be forged, and who did not ask is not to get more
// than that. What is over it is told to come by TCP, which costs a resolver that
// asks for itself two round trips and nobody else anything.
//
// A bucket is the time at which its network has paid for what it got, as in a
// leaky bucket; so it needs no sweeping, and no lock.
type rate struct {
	octet   time.Duration // that one octet costs
	seed    maphash.Seed
	buckets []atomic.Int64 // of model.Instant
}

// newRate makes a limit of so many octets a second; 0 means the default.
func newRate(octets int) *rate {
	if octets <= 0 {
		octets = rateDefault
	}
	return &rate{octet: max(1, time.Second/time.Duration(octets)), seed: maphash.MakeSeed(), buckets: make([]atomic.Int64, rateBuckets)}
}

// take reports whether a network may have so many octets more than it sent.
func (r *rate) take(now model.Instant, asker netip.Addr, octets int) bool {
	if octets <= 0 {
		return true
	}
	bits := rateBits4
	if asker.Is6() {
		bits = rateBits6
	}
	network, err := asker.Prefix(bits)
	if err != nil {
		return false
	}
	bucket := &r.buckets[maphash.Comparable(r.seed, network.Addr())%rateBuckets]
	for {
		was := bucket.Load()
		paid := max(model.Instant(was), now).Add(time.Duration(octets) * r.octet)
		if paid.Sub(now) > rateBurst {
			return false
		}
		if bucket.CompareAndSwap(was, int64(paid)) {
			return true
		}
	}
}
