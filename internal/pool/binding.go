package pool

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// BindingState is where a binding stands.
type BindingState uint8

// The states of a binding. Only Bound ones belong into the data plane. Resting ones keep their ports from other owners.
const (
	Bound BindingState = iota + 1
	Resting
	Gone
)

var bindingStateNames = [...]string{"none", "bound", "resting", "gone"}

// String returns the state in lower case.
func (s BindingState) String() string {
	if int(s) < len(bindingStateNames) {
		return bindingStateNames[s]
	}
	return "unknown"
}

// MarshalText writes the state's name.
func (s BindingState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Binding is a service at an address.
type Binding struct {
	// ID is unique among all bindings of a pool's life, and of the lives of the pools before it with overwhelming
	// probability. Its low 32 bits are the slot, below Options.Bindings; the high 32 a number that is never 0.
	ID      uint64
	Address netip.Addr
	Service Service // as bound
	// Used is the last answer, session opened or session ended, as far as the pool has heard; 0 is never.
	Used model.Instant
	// Answered is the last answer alone.
	Answered model.Instant
	State    BindingState
}
