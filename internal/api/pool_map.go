package api

import (
	"net/http"
	"net/netip"
	"net/url"
)

// What an address of the pool is used for, as PoolMap and PoolChange write it.
const (
	PoolFree    = 'f' // nobody has it
	PoolBound   = 'b' // a service has it, and gives it to another that needs it
	PoolOffered = 'o' // it was answered, and waits for who asked
	PoolClaimed = 'c' // sessions stand, or did a moment ago
	PoolResting = 'r' // it was used lately: no other host gets what the last one had
)

// PoolMap is what each address of the pool is used for.
type PoolMap struct {
	Number uint64      `json:"number"` // of the last change in it: the topic pool tells of later ones
	Ranges []PoolRange `json:"ranges"` // the addresses, in the order of the configuration
	States string      `json:"states"` // a letter for each: f free, b bound, o offered, c claimed, r resting
	Offer  float64     `json:"offer"`  // seconds that an address which was answered waits
	Rest   float64     `json:"rest"`   // seconds that it rests after its last use
}

// PoolRange is addresses that follow each other.
type PoolRange struct {
	First netip.Addr `json:"first"`
	Count int        `json:"count"`
}

// PoolChange is what the topic pool tells.
type PoolChange struct {
	Number uint64 `json:"number"`
	At     []int  `json:"at,omitempty"`     // places in a PoolMap of those that changed; left out: all of them
	States string `json:"states,omitempty"` // a letter for each
	Anew   bool   `json:"anew,omitempty"`   // the pool has other addresses: ask for a PoolMap
}

func (h handler) poolMap(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	m, err := h.gateway.PoolMap()
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, m)
}
