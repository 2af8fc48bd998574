package natlog

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Kind is what a Record says.
type Kind uint8

// The kinds. What stands is said at the beginning of each file, so that it need not be sought in earlier ones.
const (
	MappingBegun Kind = iota
	MappingEnded
	MappingStands
	AddressLent // a port of the pool's leads to a host
	AddressReturned
	AddressStands
	AddressOffered // as an answer to an asker
	AddressClaimed // by a client
	AddressExpired // the answer was not used
	SessionBegun
	SessionEnded
	Refused // packets that would have opened something, for Reason
	Lost    // Count records before it
	LogBegun
	LogEnded
	kinds
)

var kindNames = [kinds]string{
	"mapping_begun", "mapping_ended", "mapping_stands", "address_lent", "address_returned", "address_stands",
	"address_offered", "address_claimed", "address_expired", "session_begun", "session_ended", "refused", "lost",
	"log_begun", "log_ended",
}

// String is the word that lines have.
func (k Kind) String() string { return kindNames[k%kinds] }

// Record is one line of the log. What it says nothing of is zero.
type Record struct {
	Time         time.Time
	Kind         Kind
	Synchronised bool // the clock was
	Adopted      bool // LogBegun: mappings from before stand; LogEnded: they go on standing
	Protocol     model.Protocol
	External     netip.AddrPort
	Private      netip.AddrPort
	Remote       netip.AddrPort // only with destinations
	Host         string
	Name         string     // that was asked for
	Asker        netip.Addr // who was answered
	Client       netip.Addr // who came
	Reason       string
	Count        uint64
}

// key is what somebody is sought by: an endpoint outside.
type key struct {
	address  [4]byte
	protocol model.Protocol
	port     uint16
}

// key is false for a record that says nothing of who has an endpoint.
func (r *Record) key() (key, bool) {
	if r.Kind > AddressStands || !r.External.Addr().Is4() {
		return key{}, false
	}
	return key{r.External.Addr().As4(), r.Protocol, r.External.Port()}, true
}

// begins reports whether somebody has the endpoint from then on.
func (k Kind) begins() bool { return k <= AddressStands && k != MappingEnded && k != AddressReturned }

// stands reports whether somebody has had the endpoint since before that.
func (k Kind) stands() bool { return k == MappingStands || k == AddressStands }
