package pool

import "sync/atomic"

// Statistics describe the pool: what is in it, and what happened since New.
type Statistics struct {
	// Addresses is the sum of Free, Bound (at least one binding stands there) and Resting.
	Addresses, Free, Bound, Resting int
	// Services counts what SetServices told of, Bindings the Bound ones, Rests the Resting ones.
	Services, Bindings, Rests int
	// Active counts standing reservations.
	Active int
	// Reservations counts fresh ones, Repeats answers from standing ones. Claimed and Expired count reservations by
	// whether any client came.
	Reservations, Repeats, Claimed, Expired, Cancelled uint64
	// Moved counts bindings that gave way to others, Withdrawn those that a change of services or addresses ended.
	Moved, Withdrawn uint64
	// Exhausted, Refused (half-open quotas, earlier names that rest) and Full count what was not given.
	Exhausted, Refused, Full uint64
}

// counters is the live form of Statistics.
type counters struct {
	places                                             atomic.Pointer[tally]
	services, bindings, rests, active                  atomic.Int64
	reservations, repeats, claimed, expired, cancelled atomic.Uint64
	moved, withdrawn, exhausted, refused, full         atomic.Uint64
}

// tally counts places by what they are.
type tally [uses]atomic.Int64

func (c *counters) read() Statistics {
	t := c.places.Load()
	s := Statistics{
		Free: int(t[free].Load()), Bound: int(t[inUse].Load()), Resting: int(t[resting].Load()),
		Services: int(c.services.Load()), Bindings: int(c.bindings.Load()), Rests: int(c.rests.Load()), Active: int(c.active.Load()),
		Reservations: c.reservations.Load(), Repeats: c.repeats.Load(), Claimed: c.claimed.Load(), Expired: c.expired.Load(),
		Cancelled: c.cancelled.Load(), Moved: c.moved.Load(), Withdrawn: c.withdrawn.Load(),
		Exhausted: c.exhausted.Load(), Refused: c.refused.Load(), Full: c.full.Load(),
	}
	s.Addresses = s.Free + s.Bound + s.Resting
	return s
}
