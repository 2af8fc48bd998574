package lists

import (
	"encoding/binary"
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
)

// What a downloaded list may cover. Its author, or who broke into the server, must not
// be able to cut a gateway off (or, with an allowlist, to open it to all). Only space
// that hosts of the Internet can have is counted: IPv4 below multicast, IPv6 in
// 2000::/3 (RFC 4291 2.4), so that lists of bogons may have 224.0.0.0/3 or 4000::/2.
const (
	widest4 = 1 << (32 - 8)  // addresses of one entry: a /8
	widest6 = 1 << (64 - 12) // /64 of one entry: a /12, what a regional registry gets

	end4   = 224<<24 - 1 // the last unicast address
	first6 = 0x2000 << 48
	end6   = 0x3fff<<48 | (1<<48 - 1)

	most4 = (end4 + 1) / 2
	most6 = (end6 - first6 + 1) / 2
)

// unicast4 returns how many addresses of a range hosts can have.
func unicast4(r model.AddressRange) uint64 {
	last := min(r.Last, end4)
	if last < r.First {
		return 0
	}
	return uint64(last) - uint64(r.First) + 1
}

// unicast6 returns from how many /64 that hosts can have a range has addresses.
func unicast6(r model.AddressRange6) uint64 {
	first, last := max(subnet(r.First), first6), min(subnet(r.Last), end6)
	if last < first {
		return 0
	}
	return last - first + 1
}

// subnet returns the number of an address's /64.
func subnet(a [16]byte) uint64 { return binary.BigEndian.Uint64(a[:8]) }

// checkCover refuses a list that has too much with all its entries together.
func (l *List) checkCover() error {
	var sum4, sum6 uint64
	for _, r := range l.Addresses.Ranges() {
		sum4 += unicast4(r)
	}
	for _, r := range l.Addresses.Ranges6() {
		sum6 += unicast6(r)
	}
	if sum4 > most4 || sum6 > most6 {
		return fmt.Errorf("%w: more than half of it; is this the list that you mean?", ErrTooWide)
	}
	return nil
}
