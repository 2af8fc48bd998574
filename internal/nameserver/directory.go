package nameserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Directory is what the name server needs to know of the registry. One value
// is an immutable snapshot: all calls for one message see the same state.
type Directory interface {
	// Find returns what a name stands for: by itself, or by the wildcard of its
	// closest encloser (RFC 4592 §3.3.1), with Entry.Encloser set. It never
	// applies a wildcard to a name that exists, nor where the name's first
	// label begins with an underscore.
	Find(name model.Name) (Entry, bool)
	// Exists reports whether the name or any name below it is known by itself,
	// so that an empty non-terminal is NODATA and not NXDOMAIN (RFC 8020 §2).
	Exists(name model.Name) bool
	// Reverse returns the host name that belongs to a private address.
	Reverse(address netip.Addr) (model.Name, bool)
	// Lent lists the names of a zone, and of no zone below it, that open
	// something by a pool address; wildcards as "*.shop.foo.example.".
	Lent(zone model.Name) []model.Name
	// WebNames are as Lent, of names that have a web address.
	WebNames(zone model.Name) []model.Name
}

// Entry is what a name stands for. A host name that opens nothing has no Ports:
// outside it has no address, inside it has the private one.
type Entry struct {
	Address  netip.Addr   // the host's private IPv4 address
	Ports    []model.Port // what the name opens, from outside to the host; it is only read
	Encloser model.Name   // whose wildcard this is, "shop.foo.example." for "*.shop.foo.example."; "" by itself
	// Parent: the directory has names below this one that stand for another
	// service, so a question may be only on the way to those (RFC 9156).
	Parent bool
	HTTPS  *HTTPS // what an HTTPS record says of the name; nil: there is none
	// Web is the web address of a name that opens nothing but what names are read from: the same for everybody, and
	// nothing is lent. The zero value: it is no such name.
	Web    netip.Addr
	WebTTL time.Duration // of its A record, whole seconds
}

// HTTPS says where a browser that is given "https://name/" finds it (RFC 9460),
// if that is not port 443, and what it speaks. An address is never part of it.
type HTTPS struct {
	Port uint16   // outside; one of the name's Ports
	ALPN []string // such as "h2", "h3"; http/1.1 goes without saying (RFC 9460 §7.1.2)
}

// lent reports whether the name has a pool address outside.
func (e Entry) lent() bool { return len(e.Ports) > 0 && !e.web() }

// web reports whether the name has a web address outside.
func (e Entry) web() bool { return e.Web.IsValid() }

// single is the port of a name that opens exactly one of TCP or UDP. Such a
// name has SRV and TXT records of its own.
func (e Entry) single() (port model.Port, ok bool) {
	if len(e.Ports) != 1 || e.Ports[0].Port == 0 {
		return model.Port{}, false
	}
	return e.Ports[0], true
}

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
	Name      model.Name     // found in the Directory, and lent; never the wildcard itself
	Client    netip.AddrPort // the asker, usually a resolver
	Subnet    netip.Prefix   // whom a listed resolver asks for, /24 at the longest (RFC 7871); the zero value: it did not say
	Transport Transport
	Verified  bool   // the asker's address is proved: by TCP or by a cookie (RFC 7873)
	ID        uint64 // the same for a retransmitted UDP query, else different
}

// Answer is the address lent for a Question.
type Answer struct {
	Address netip.Addr // IPv4
}

// Allocator lends public addresses. Over UDP it must answer at once, since it
// is called on the goroutine that reads the socket; over TCP it may wait until
// ctx ends. It returns one of the errors below, possibly wrapped; any other
// error counts as ErrFailed. Only A questions for lent names reach it.
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
