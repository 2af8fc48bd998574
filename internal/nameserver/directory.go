package nameserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Directory is what the name server needs to know of the registry. One value
// is an immutable snapshot: all calls for one message see the same state.
type Directory interface {
	// Find returns the host or service that has exactly this name.
	Find(name model.Name) (Entry, bool)
	// Exists reports whether the name or any name below it is known, so that
	// an empty non-terminal is NODATA and not NXDOMAIN (RFC 8020 §2).
	Exists(name model.Name) bool
	// Reverse returns the host name that belongs to a private address.
	Reverse(address netip.Addr) (model.Name, bool)
}

// Entry is a host name or, when Port is not 0, a service name.
type Entry struct {
	Address  netip.Addr     // the host's private IPv4 address
	Protocol model.Protocol // of the service
	Port     uint16         // public port of the service, 0 for a host name
	To       uint16         // port the service has on the host itself
	Parent   bool           // the directory has names below this one
}

func (e Entry) isService() bool { return e.Port != 0 }

// Transport is how a query came in.
type Transport uint8

// The transports of RFC 1035 §4.2.
const (
	UDP Transport = iota + 1
	TCP
)

// String returns "udp" or "tcp".
func (t Transport) String() string {
	switch t {
	case UDP:
		return "udp"
	case TCP:
		return "tcp"
	}
	return fmt.Sprintf("transport-%d", uint8(t))
}

// Question asks the Allocator for an address.
type Question struct {
	Name      model.Name     // found in the Directory
	Client    netip.AddrPort // the asker, usually a resolver
	Transport Transport      // over TCP the asker's address is verified
	ID        uint64         // the same for a retransmitted UDP query, else different
}

// Answer is the address lent for a Question.
type Answer struct {
	Address netip.Addr // IPv4
}

// Allocator lends public addresses. Over UDP it must answer at once, since it
// is called on the goroutine that reads the socket; over TCP it may wait until
// ctx ends. It returns one of the errors below, possibly wrapped; any other
// error counts as ErrFailed.
type Allocator interface {
	Allocate(ctx context.Context, question Question) (Answer, error)
}

// Why an Allocator lends nothing.
var (
	// ErrExhausted: no address is free. UDP gets TC=1, TCP SERVFAIL.
	ErrExhausted = errors.New("no pool address is free")
	// ErrRefused: a limit or the policy says no. The answer is REFUSED.
	ErrRefused = errors.New("the policy refuses the allocation")
	// ErrFailed: the gateway could not install the reservation. SERVFAIL.
	ErrFailed = errors.New("the allocation failed")
)
