package config

import "github.com/realmgate/realmgate/internal/schema"

// Verify says how an outside asker proves its address before it gets one.
type Verify uint8

// The ways to verify an asker.
const (
	VerifyTCP  Verify = iota // a UDP query is told to come back over TCP
	VerifyNone               // any query allocates
)

// String returns the word used in the file.
func (v Verify) String() string { return schema.Word(int(v), "verify", "tcp", "none") }

// Order says which free pool address is lent next.
type Order uint8

// The orders in which addresses are lent.
const (
	OrderRandom Order = iota
	OrderCircular
)

// String returns the word used in the file.
func (o Order) String() string { return schema.Word(int(o), "order", "random", "circular") }

// ReversePath says by which private interface a packet's source has to be reached
// (RFC 3704 section 2).
type ReversePath uint8

// The checks of a reverse path.
const (
	ReversePathStrict ReversePath = iota // the one that the packet came by
	ReversePathLoose                     // any
)

// String returns the word used in the file.
func (r ReversePath) String() string { return schema.Word(int(r), "reverse_path", "strict", "loose") }

// IPv6 says what becomes of IPv6 packets that are not for the gateway itself.
type IPv6 uint8

// What can become of IPv6 packets.
const (
	IPv6Drop    IPv6 = iota
	IPv6Forward      // left to the kernel's stack
)

// String returns the word used in the file.
func (v IPv6) String() string { return schema.Word(int(v), "ipv6", "drop", "forward") }
