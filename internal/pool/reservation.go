package pool

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// MaxClaims bounds the claims of one reservation: the questions of one asker that it answers each with a claim of its own.
// A burst of a dozen clients behind an asker that puts each one's question fits.
const MaxClaims = 16

// MinimumLeft is the least time a reservation must still have to be answered with: a shorter one would expire on the client's
// way to us.
const MinimumLeft = 250 * time.Millisecond

// State is where a reservation stands.
type State uint8

// The states of a reservation. Only Active ones are in the pool. Closed ones were claimed, Expired ones were not;
// Cancelled ones nobody could claim.
const (
	Active State = iota + 1
	Expired
	Cancelled
	Closed
)

var stateNames = [...]string{"none", "active", "expired", "cancelled", "closed"}

// String returns the state in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Request asks for an answer for a name of a bound service.
type Request struct {
	Service   model.Name   // the service's name
	Name      model.Name   // the name asked
	Requester netip.Addr   // who asked
	Source    netip.Prefix // limits who may claim; the zero Prefix lets anyone
	// Query tells queries apart: a retransmission has the same number, and only a new number adds a claim to a standing
	// reservation.
	Query    uint64
	Verified bool // the requester has proved its address
}

// Reservation is one answer to one asker.
type Reservation struct {
	// ID is unique as a Binding's is. Its low 32 bits number an entry below Options.Capacity, which no two reservations
	// have at the same time.
	ID        uint64
	Binding   uint64 // its ID
	Name      model.Name
	Requester netip.Addr
	Source    netip.Prefix
	Created   model.Instant
	Expires   model.Instant
	// Granted counts the claims given by questions, 1..MaxClaims; Claims those left as far as the pool has heard.
	Granted  int
	Claims   int
	Verified bool
	State    State
}

// Entry returns the table entry that the reservation occupies.
func (r *Reservation) Entry() uint32 { return uint32(r.ID) }
