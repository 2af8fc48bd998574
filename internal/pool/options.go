package pool

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Order says which free address is lent next.
type Order uint8

// The two orders: cryptographically random, or round the configured list.
const (
	Random Order = iota
	Circular
)

// Limits of a pool's size.
const (
	MaxAddresses    = 65536
	DefaultCapacity = 1 << 17
	MaxCapacity     = 1 << 24
)

// Options configure a Pool. They are read once; later changes to the slice do
// not matter.
type Options struct {
	Addresses []netip.Addr // 1..MaxAddresses, no address twice, in circular order
	Order     Order
	// Offer is the time from the answer to the expiry, at least MinimumLeft.
	Offer time.Duration
	// Again is how long a claimed (address, protocol, port) stays with its
	// host for more connections; 0 is strict.
	Again time.Duration
	// Quarantine is how long after an unused expiry no other host may have an
	// overlapping (protocol, port) of the address.
	Quarantine time.Duration
	// HalfOpen and HalfOpenPerHost bound standing offers; 0 is no bound but
	// Capacity.
	HalfOpen, HalfOpenPerHost int
	// Capacity bounds the reservations in the pool, holds and quarantines
	// included; 0 is DefaultCapacity. Reconfigure cannot change it.
	Capacity int
	// Blocked reports that the place is somebody else's (I3): a service of the
	// gateway, a static mapping. AnyProtocol and port 0 stand for any. Nil
	// blocks nothing. It must not call the pool.
	Blocked func(netip.Addr, model.Protocol, uint16) bool
}

func (o *Options) validate() error {
	switch {
	case len(o.Addresses) == 0:
		return errors.New("pool has no address: list at least one")
	case len(o.Addresses) > MaxAddresses:
		return fmt.Errorf("pool has %d addresses: list at most %d", len(o.Addresses), MaxAddresses)
	case o.Offer < MinimumLeft:
		return fmt.Errorf("pool offer is %s: use at least %s", o.Offer, MinimumLeft)
	case o.Again < 0 || o.Quarantine < 0:
		return errors.New("pool again or quarantine is negative: use 0 or more")
	case o.HalfOpen < 0 || o.HalfOpenPerHost < 0:
		return errors.New("pool half-open quota is negative: use 0 for none")
	case o.Capacity < 0 || o.Capacity > MaxCapacity:
		return fmt.Errorf("pool capacity is %d: use 1 to %d, or 0 for %d", o.Capacity, MaxCapacity, DefaultCapacity)
	case o.Order != Random && o.Order != Circular:
		return fmt.Errorf("pool order is %d: use random or circular", o.Order)
	}
	seen := make(map[netip.Addr]bool, len(o.Addresses))
	for _, a := range o.Addresses {
		if !a.IsValid() {
			return errors.New("pool has an address that is no address")
		}
		if seen[a] {
			return fmt.Errorf("pool address %s is listed twice", a)
		}
		seen[a] = true
	}
	return nil
}
