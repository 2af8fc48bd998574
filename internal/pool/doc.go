// Package pool lends a small pool of public addresses to private hosts, one
// name at a time: the circular pool (CPPA). A reservation lends
// (address, protocol, port) to one host until the first packets claim it or it
// expires; the session lives on in the data plane while the address is lent
// again.
//
// # Invariants
//
// I1: two reservations on one address conflict when protocols, ports and
// source prefixes all overlap (any overlaps everything); such a pair never
// coexists, so a packet matches at most one of them (I2) whatever the order of
// lookup. I3: Options.Blocked rejects addresses whose port is somebody else's.
// I5: a reservation is identified by its ID, which is never used twice, and is
// answered from only while it is OFFERED.
//
// # Life of a reservation
//
//	Offered ── last claim ──> Claimed ── again over ──> Closed
//	   ├── expiry, some claim used ──> Claimed (until the last claim's again is over), or Closed
//	   ├── expiry, no claim used ──> Expired: quarantined, then gone
//	   └── Cancel, Withdraw ──> Cancelled: gone, or quarantined when somebody may know the answer
//
// The data plane is the authority on claims. The pool never ends an offer or a
// hold by itself: Due names those whose time is over, the caller removes their
// records from the data plane and reports Claimed or Expired for each. So an
// outcome is judged by when it happened, not by when it was heard of.
//
// # State and concurrency
//
// A Pool owns the reservations, the use of every address and the idempotence
// index. All of it is bounded by Options.Capacity and by the number of
// addresses. It reads no clock and starts no goroutine; callers see to it that
// one goroutine at a time uses it.
//
// # Cost
//
// An offer of a service name or a host name costs one or two microseconds:
// candidates are found by bitsets over the addresses in use, numbered densely.
// The forms (protocol, any port) and (any protocol, port), and requests limited
// to a source prefix when no address is free, look at addresses one by one, at
// most examineLimit of them.
package pool
