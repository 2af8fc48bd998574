// Package pool lends a small pool of public addresses to private hosts by name: the circular pool (CPPA).
//
// # What is lent
//
// A service is what names stand for: a host and the ports it opens. A binding is a service at an address of the pool: its
// ports there are its alone, and all its visitors share it. A reservation is one answer to one asker; it gives claims, by
// which the data plane lets clients in. The rest is how long after its last use (answer, session opened, session ended)
// a binding's ports are given to no other owner.
//
// # Life of a binding
//
//	Bind, Place ── Bound ── another service needs the place, and it has rested ──> Gone
//	                 ├── SetServices, Registered, Reconfigure, Unbind after an answer ──> Resting ── last use + Rest ──> Gone
//	                 └── Unbind before any answer ──> Gone
//
// A service keeps its binding while nobody else needs the place. Where a service without one goes, in this order:
//
//  1. an address where its owner is already, if its ports are free there;
//  2. a free address: one never used, at random or in circular order, else the one unused for longest;
//  3. an address shared with other owners, if its ports are free there;
//  4. the address unused for longest whose clashing bindings have all rested and have no session standing;
//  5. the same with sessions standing, except that a binding with a web port and sessions never gives way to a service of
//     one of its zones: a browser takes a standing connection for every name that its certificate covers (RFC 9113 §9.1.1).
//     One that opens anything but TCP never gives way with sessions: nothing tells a first datagram of the same ports;
//  6. nowhere: ErrExhausted.
//
// After step 5, while sessions of a web binding that gave way stand, its place is in no step for another owner's web service
// of one of its zones, whoever has had it since. At most one such binding is remembered for each slot.
//
// Ports are free where no bound port is the same and no resting one of another owner is. "Everything" is the same as any
// port. tcp/80, tcp/443 and udp/443 of an address are one owner's together. A resting port of the same owner that went to
// another port of its host is not free either.
//
// # Invariants
//
// I1: two bound ports of one address never overlap, so all reservations that a packet could match are for one host and
// port, and a packet finds at most one binding (I2) whatever the order of lookup. I3: Options.Blocked rejects addresses
// whose port is somebody else's. I4: a binding never changes its address, owner or host, nor loses a zone. I5: bindings and
// reservations are identified by IDs that are never used twice, and a question is answered from a reservation only while
// it is Active and its binding is Bound. I9: between any use of a binding and that use + Rest, none of its ports is given
// to another owner, over reloads, adoption and changes of the pool.
//
// # Who knows what
//
// The data plane is the authority on claims and on use. The pool asks Options.Use only when a place has to move or a rest
// is over, so that what it orders bindings by may be old; it is a lower bound, which is made true before it decides
// anything. The pool never ends a reservation by itself either: Due names those whose time is over, the caller asks the
// data plane and reports Claimed or Expired. So an outcome is judged by when it happened, not by when it was heard of.
//
// # State and concurrency
//
// A Pool owns the bindings, the reservations, the use of every address and the index of repeated questions; all of it is
// bounded by Options and by the number of addresses. It reads no clock and starts no goroutine; callers see to it that one
// goroutine at a time uses it. Instant 0 means never.
//
// # Cost
//
// A reservation from a standing binding costs about a microsecond. A move looks at candidates, the longest unused first,
// at most lookLimit of them; where that many do not do, though others might, it says ErrExhausted.
package pool
