package pool

// Statistics describe the pool: what is in it, and what happened since New.
type Statistics struct {
	// Addresses is the sum of Free, Shared, Exclusive and Resting. A resting
	// address has nothing but quarantines on it.
	Addresses, Free, Shared, Exclusive, Resting int
	// Offered, Held and Quarantined count reservations.
	Offered, Held, Quarantined int
	// Offers counts fresh offers, Repeats answers from standing ones. Claimed
	// and Expired count offers by whether any packet came.
	Offers, Repeats, Claimed, Expired, Cancelled uint64
	// Exhausted, Refused (half-open quotas) and Full count offers not made.
	Exhausted, Refused, Full uint64
}

// Statistics returns the counts; it costs nothing worth saving.
func (p *Pool) Statistics() Statistics {
	s, t := p.counts, p.places.tally
	s.Free, s.Shared, s.Exclusive, s.Resting = t[free], t[shared], t[exclusiveUse], t[resting]
	s.Addresses = s.Free + s.Shared + s.Exclusive + s.Resting
	return s
}
