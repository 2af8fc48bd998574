// Package policy decides, before the pool is asked, whether a name's question
// may get an address: rate limits first, then load and reputation.
//
// # Limits
//
// Token buckets per client prefix, resolver, host and service, and one in all;
// each holds one second's worth. A refused question takes no token anywhere.
//
// # Load, class, reputation
//
// A question whose service has its place takes nothing from anybody: only the
// limits are asked. For others, the fuller the pool, the better the reputation
// that a place needs, a
// host name's more than a service name's, since it takes a whole address. A
// reputation is the share of claimed reservations among those judged, from 0 to 1;
// a resolver never seen has FirstReputation. Only verified parties earn or lose
// one, for their address and for its /24, of which the less counts: anybody can
// write another's address into a UDP query. Outcomes lose half
// their weight every Period. The last tenth of the pool is kept for verified
// resolvers that were never seen or have shown no worse than those.
//
// # Holdings
//
// An answer that no client uses keeps its binding from other names while it
// rests. Holdings bounds what each asker, and each /24, keeps in that way.
//
// # State and concurrency
//
// An Admission owns its buckets and reputations, at most TableSize of each
// kind; a newcomer to a full table takes the place of the one idle longest,
// who begins anew when it returns. It reads no clock and starts no goroutine;
// one goroutine at a time may use it.
package policy
