package chain

// RateLimit is the function "rate-limit": it lets through as much as its meter says,
// which has no window.
type RateLimit struct{ Meter }

func (r RateLimit) compile(name string, shared Shared, states *States) (piece, error) {
	return r.piece(name, "nf_rate_limit", loadRateLimit, shared, states)
}
