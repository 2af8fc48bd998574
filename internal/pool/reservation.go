package pool

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// MaxClaims bounds the claims of one reservation: the clients behind one
// resolver that one offer lets in.
const MaxClaims = 8

// MinimumLeft is the least time an offer must still have to be answered with:
// a shorter one would expire on the client's way to us.
const MinimumLeft = 250 * time.Millisecond

// State is where a reservation stands.
type State uint8

// The states a caller can see. Expired and Cancelled reservations that are
// still listed are quarantined until FreeAt; Closed ones have left the pool.
const (
	Offered State = iota + 1
	Claimed
	Expired
	Cancelled
	Closed
)

var stateNames = [...]string{"none", "offered", "claimed", "expired", "cancelled", "closed"}

// String returns the state in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Request asks for an address for a name.
type Request struct {
	Name     model.Name
	Host     netip.Addr
	HostPort uint16 // where packets go; 0 keeps the port
	Protocol model.Protocol
	Port     uint16 // outside port; 0 is any
	// Source limits who may claim; the zero Prefix lets anyone.
	Source    netip.Prefix
	Requester netip.Addr // client or resolver group that asked
	// Query tells queries apart: a retransmission has the same number, and
	// only a new number adds a claim to a standing offer.
	Query    uint64
	Verified bool
	Again    *time.Duration // overrides Options.Again; 0 is strict
}

// Reservation is one lending of (Address, Protocol, Port) to Host.
type Reservation struct {
	// ID is unique among all reservations of a pool's life, and of the lives
	// of the pools before it with overwhelming probability. Its low 32 bits
	// number a table entry, 0 <= entry < Options.Capacity, which no two
	// reservations have at the same time; the high 32 are the Generation.
	ID         uint64
	Generation uint32
	Address    netip.Addr
	Protocol   model.Protocol // AnyProtocol for a host name
	Port       uint16         // 0 is any
	Source     netip.Prefix   // the zero Prefix is any
	Host       netip.Addr
	HostPort   uint16
	Name       model.Name
	Requester  netip.Addr
	Created    model.Instant
	Expires    model.Instant
	// Granted counts the claims ever given, 1..MaxClaims; Claims those left as
	// far as the pool has heard.
	Granted  int
	Claims   int
	Again    time.Duration
	Verified bool
	State    State
	// FreeAt is when a Claimed reservation's hold or a quarantine ends.
	FreeAt model.Instant
}

// Entry returns the table entry that the reservation occupies.
func (r *Reservation) Entry() uint32 { return uint32(r.ID) }

// Exclusive reports whether the reservation takes the whole address, as host
// names do.
func (r *Reservation) Exclusive() bool { return exclusive(r.Protocol, r.Port) }

// Conflicts reports whether two reservations on one address may not coexist
// (I1): protocols, ports and source prefixes all overlap.
func (r *Reservation) Conflicts(o *Reservation) bool {
	return overlap(r.Protocol, r.Port, o.Protocol, o.Port) && intersect(r.Source, o.Source)
}

func exclusive(p model.Protocol, port uint16) bool { return p == model.AnyProtocol && port == 0 }

func overlap(p1 model.Protocol, d1 uint16, p2 model.Protocol, d2 uint16) bool {
	return (p1 == p2 || p1 == model.AnyProtocol || p2 == model.AnyProtocol) &&
		(d1 == d2 || d1 == 0 || d2 == 0)
}

// intersect reports whether some source is in both; the zero Prefix is any.
func intersect(a, b netip.Prefix) bool {
	return !a.IsValid() || !b.IsValid() || a.Overlaps(b)
}

// quarantined reports whether only the host it was lent to may have the place.
func (r *Reservation) quarantined() bool { return r.State == Expired || r.State == Cancelled }
