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
	MaxCapacity = 1 << 24
	MaxBindings = 1 << 20
)

// Options configure a Pool. They are read once; later changes to the slice do not matter.
type Options struct {
	Addresses []netip.Addr // up to model.MaxPoolAddresses, no address twice, in circular order
	Order     Order
	// ReservationTimeout is the time from an answer to its expiry, at least MinimumLeft.
	ReservationTimeout time.Duration
	// Rest is how long after its last use a binding's ports are given to no other owner.
	Rest time.Duration
	// HalfOpen and HalfOpenPerHost bound standing reservations; 0 is no bound but Capacity.
	HalfOpen, HalfOpenPerHost int
	// Capacity bounds the reservations in the pool, Bindings the bindings, resting ones included. Reconfigure cannot
	// change them. There should be twice as many Bindings as services: a reload may make each of them rest.
	Capacity, Bindings int
	// Blocked reports that a port of an address is somebody else's (I3): a service of the gateway, a dnat mapping.
	// AnyProtocol and port 0 stand for everything. Nil blocks nothing. It must not call the pool.
	Blocked func(netip.Addr, model.Protocol, uint16) bool
	// Use tells what the data plane knows of a binding: when a session of it was opened or ended last, 0 for never, and
	// how many stand. Nil knows of none. It must not call the pool.
	Use func(id uint64) (used model.Instant, sessions int)
	// Vacant reports whether a slot may be used again: no session of a binding that had it stands. Nil: every slot may.
	// It must not call the pool.
	Vacant func(slot uint32) bool
	// Registered finds services that come and go one by one, beside those of SetServices: see Pool.Registered. They are not to be
	// changed once handed over. Nil finds none. It must not call the pool.
	Registered func(service model.Name) (Service, bool)
}

func (o *Options) validate() error {
	switch {
	case len(o.Addresses) > model.MaxPoolAddresses:
		return fmt.Errorf("pool has %d addresses: list at most %d", len(o.Addresses), model.MaxPoolAddresses)
	case o.ReservationTimeout < MinimumLeft:
		return fmt.Errorf("pool reservation time-out is %s: use at least %s", o.ReservationTimeout, MinimumLeft)
	case o.Rest <= 0:
		return fmt.Errorf("pool rest is %s: use more than 0", o.Rest)
	case o.HalfOpen < 0 || o.HalfOpenPerHost < 0:
		return errors.New("pool half-open quota is negative: use 0 for none")
	case o.Capacity < 1 || o.Capacity > MaxCapacity:
		return fmt.Errorf("pool capacity is %d: use 1 to %d", o.Capacity, MaxCapacity)
	case o.Bindings < 1 || o.Bindings > MaxBindings:
		return fmt.Errorf("pool has room for %d bindings: use 1 to %d", o.Bindings, MaxBindings)
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
