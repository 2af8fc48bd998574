package method

import "math/bits"

// What sessions take of memory, in bytes. A connection of netfilter is 256 on Linux
// 6.18, as its allocator counts them here under SNAT, and 128 more when something
// is attached to it: masquerading, accounting, time stamps, labels, helpers. Lencse
// and Shima measured 385.4 on Linux 4.9 (Table V), and 8 for a bucket of
// the hash table (Table IV).
const (
	ConnectionBytes       = 256
	AttachedBytes         = 128
	LencseConnectionBytes = 385.4
	BucketBytes           = 8

	generatorFlowBytes  = 8        // a state of the responder's table
	generatorFixedBytes = 17 << 20 // a bit for each frame of either direction, and the rest
)

// NetfilterBytes is what connections take of memory at most, with a table of so
// many buckets.
func NetfilterBytes(connections, buckets int) int64 {
	return (ConnectionBytes+AttachedBytes)*int64(connections) + BucketBytes*int64(buckets)
}

// Buckets is how many buckets suit so many connections, and how many connections
// netfilter is then told to take at most: the next power of two for both, since
// Lencse and Shima found hashsize = nf_conntrack_max fastest.
func Buckets(connections int) int { return 1 << bits.Len(uint(max(connections, 1)-1)) }

// Parts of Realmgate's tables, docs/reference/tables.md; its memory is taken at the
// start.
const (
	indexSlotBytes       = 4 / 0.8 // at the load of a full index
	sessionBytes         = 64 + 1.0/8 + 2*indexSlotBytes
	portsEachAddress     = 3 * 65536
	portBytes            = 12 + 1.0/8
	reservationBytes     = 128 + indexSlotBytes
	realmgateFixedBytes  = 10157 << 10 // next hops, addresses, services, events, bans, fragments, what waits for a name, pacts and links
	sessionsAReservation = 48
	sessionsATally       = 8 // of hosts inside, and of remote addresses
	tallyBytes           = 2 * 16
	leastSlots           = 3 // for outbound addresses, those that come later among them
	spareSlots           = 2
	leastCapacity        = 1024
	mostCapacity         = 64_000_000
)

// RealmgateBytes is what the tables of a gateway take of memory, full or empty.
func RealmgateBytes(capacity, outboundAddresses int) int64 {
	ports := portsEachAddress * min(max(leastSlots, outboundAddresses+spareSlots), mostOutbound)
	reservations := min(max(capacity/sessionsAReservation, 1024), 65536)
	tallies := min(max(capacity/sessionsATally, 1024), 1<<17)
	return int64(tallyBytes*tallies) + int64(sessionBytes*float64(capacity)+portBytes*float64(ports)+indexSlotBytes*float64(min(capacity, ports))+
		reservationBytes*float64(reservations)+realmgateFixedBytes)
}

// Capacity is what a gateway is told for so many sessions: some more, since records
// rest when their session ends, and a sixteenth is kept for the other direction.
func Capacity(sessions int) int { return min(max(leastCapacity, sessions+sessions/14), mostCapacity) }

// GeneratorBytes is what the tester itself takes of memory for so many flows.
func GeneratorBytes(flows int) int64 { return generatorFixedBytes + generatorFlowBytes*int64(flows) }

// MostThatFit returns the highest number up to most for which bytes, which grows,
// is not above room; 0 if none is.
func MostThatFit(most int, room int64, bytes func(sessions int) int64) int {
	low, high := 0, most+1 // low fits, high does not
	for low+1 < high {
		if middle := low + (high-low)/2; bytes(middle) <= room {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
