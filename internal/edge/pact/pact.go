package pact

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/model"
)

// Key is what a pact is for. Local and Remote are names as the edges said them; for a host without one, its edge's.
type Key struct {
	Host          netip.Addr // private
	Local, Remote model.Name
	Shown         uint64 // of a remote host that its edge's name stands for: its wire.HostID, as others have the same name; else 0
}

// State is how far a pact is.
type State uint8

// The states.
const (
	Opening State = iota // told to nobody
	Live
	Resting // only its proxy address is left
)

// String returns the word of listings.
func (s State) String() string { return [...]string{"opening", "live", "resting"}[s] }

// Pact is one agreement, as it was when the Store was asked.
type Pact struct {
	Key
	Other                uint64 // wire.HostID of the remote host
	Number               uint16 // 1 to Options.Most; of a resting one, that it had
	Own, Peer            uint32 // tags
	Proxy                netip.Addr
	Peers                string // the edge that it is with
	Link                 uint32 // number of the link; the caller's
	State                State
	Out, In, Ping, Whole bool         // who may begin, ICMP echo, every port of the host
	Terms                policy.Terms // of the way in where In, else of the way out
	Ways                 []Way
	Rule                 [2]int // places in `out` and `in`, -1: none
	Opened, Until        model.Instant
	Used                 model.Instant // last packet or answer
	Rests                model.Instant // of a resting one: others get its proxy address from then on
	Vouched              policy.Vouched
}

// Way is a port that the peer may connect to, and where it leads on the host.
type Way struct {
	Protocol model.Protocol
	Port, To uint16
}

// Agreed is what Settle, Accept and Widen write into a pact. Rule is the place of the rule that let it pass: of `out` with
// Out, of `in` with In.
type Agreed struct {
	Other                uint64
	Terms                policy.Terms
	Out, In, Ping, Whole bool
	Ways                 []Way
	Rule                 int
	Link                 uint32
	Vouched              policy.Vouched
	Until                model.Instant
}

// Wins reports which of two crossing opens stays: that of the edge with the smaller name.
func Wins(ourEdge, theirEdge model.Name) bool { return ourEdge < theirEdge }
