package pool

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
	// Exhausted, Refused (half-open quotas) and Full count what was not given.
	Exhausted, Refused, Full uint64
}
