package model

import (
	"net/netip"
	"time"
)

// OffenderBits are the leading bits of an IPv6 address that tell one offender from another:
// a link has a prefix of 64 bits (RFC 4291 §2.5.1), and who is on it any address of it.
const OffenderBits = 64

// OffenderOf is what an offender is known by, and banned as: an IPv4 address, also where it
// is mapped, or the /64 of an IPv6 address.
func OffenderOf(a netip.Addr) netip.Prefix {
	a = a.Unmap()
	if a.Is4() {
		return netip.PrefixFrom(a, a.BitLen())
	}
	return netip.PrefixFrom(a.WithZone(""), OffenderBits).Masked()
}

// LongestBan is how long a ban lasts at most that the gateway makes itself.
const LongestBan = 365 * 24 * time.Hour
