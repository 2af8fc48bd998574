package ratelimit

import (
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
)

// RateLimit lets through as much as its meter says, which has no window.
type RateLimit struct{ meter.Meter }

// Compile implements nf.Function.
func (f RateLimit) Compile(c nf.Context) (nf.Compiled, error) {
	return f.Meter.Compile("nf_rate_limit", loadRateLimit, c)
}
