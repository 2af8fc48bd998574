// Package nameserver speaks DNS on both sides of the gateway.
//
// Public is the authoritative server for the gateway's zones, asked from
// outside. An A query for a name of the directory lends a pool address through
// the Allocator; all else is answered from the zone data. Private is the
// resolver for the hosts inside: names of the zones get private addresses,
// every other name is asked upstream and cached.
//
// # A UDP answer never amplifies
//
// The source of a UDP query can be forged, so Public never sends a UDP answer
// longer than its query. An answer that would be longer becomes the question
// alone with TC=1, and a resolver asks again over TCP, whose handshake proves
// its address. With VerifyTCP the pool's A records are treated so whatever
// their length, and nothing is allocated. VerifyNone permits one exception: an
// answer of exactly one A record, which is 16 octets longer than its query.
//
// # Resolvers that minimise names
//
// A resolver that minimises (RFC 9156) asks for a service's host before it asks
// for the service, and an address lent for that is lost until it expires.
// Public learns who does so (minimisers) and answers their questions for such
// hosts with an alias, a CNAME with TTL 0 that takes no address (aliases). Who
// meant the host asks for the alias and gets an address for the host.
//
// # How it is built
//
// A message goes through three steps. parse reads the wire and rejects what is
// malformed. decide (on Public and Private) is pure: query, directory and, on
// Public, asker and time give a decision, which is a reply, silence, an address
// to allocate or a name to ask upstream. On Public, sight may then turn an
// address into an alias. render writes the reply within its limit. Sockets know none of
// this: serve.go and stream.go carry octets to a responder and back.
//
// # State and concurrency
//
// Public owns its settings, its counters and two bounded tables: the askers that
// minimise, and the numbers of host names in aliases. Both are kept over a
// Reconfigure and lost with the process. Private owns the cache of
// upstream answers and the order of the upstream servers. Settings and
// directory are read once per message, so Reconfigure may be called at any
// time; every exported method is safe for concurrent use. Serve may run several
// times at once, for instance on one SO_REUSEPORT socket per CPU.
package nameserver
