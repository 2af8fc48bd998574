package schema

import (
	"fmt"
	"net/netip"
)

// Use is the key that an address or a name is given under. Uses of an address that may be joint are for one thing together.
type Use struct {
	Key   string
	Line  int
	Joint bool
}

// Keys under which sections give addresses, by which others ask for them.
const (
	OutboundAddresses = "outbound.addresses"
	PoolAddresses     = "pool.addresses"
	WebAddresses      = "web.addresses"
	DNSPublic         = "dns.public"
)

// String names it, for people.
func (u Use) String() string { return fmt.Sprintf("%s at line %d", u.Key, u.Line) }

// Uses are what every address of a file is for: one thing, or several that may be joint.
type Uses map[netip.Addr][]Use

// Take notes what addr is for and reports whether it may be that. A value
// without a line was not given or is already reported.
func (u Uses) Take(faults *Faults, addr netip.Addr, as Use) bool {
	if as.Line == 0 {
		return true
	}
	for _, before := range u[addr] {
		if before.Key == as.Key || !before.Joint || !as.Joint {
			faults.Add(as.Line, "%s: %s is already used by %s: an address has one use", as.Key, addr, before)
			return false
		}
	}
	u[addr] = append(u[addr], as)
	return true
}

// As finds a use of an address.
func (u Uses) As(addr netip.Addr, key string) (Use, bool) {
	for _, use := range u[addr] {
		if use.Key == key {
			return use, true
		}
	}
	return Use{}, false
}
