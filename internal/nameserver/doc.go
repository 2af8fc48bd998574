// Package nameserver speaks DNS on both sides of the gateway.
//
// Public is the authoritative server for the gateway's zones, asked from
// outside. An A query for a name of the directory lends a pool address through
// the Allocator; all else is answered from the zones' data. Private is the
// resolver for the hosts inside: names of the zones get private addresses,
// every other name is asked upstream and cached.
//
// # UDP answers and forged sources
//
// The source of a UDP query can be forged. So about lent names, and about zones
// without a file, Public never sends a UDP answer longer than its query. An
// answer that would be longer becomes the question alone with TC=1, and a
// resolver asks again over TCP, whose handshake proves its address. With
// VerifyTCP the pool's A records are treated so whatever their length, and
// nothing is allocated. VerifyNone permits one exception: an answer of exactly
// one A record, which is 16 octets longer than its query.
//
// A server cookie of ours proves the address as a handshake does (cookies). Who
// has none learns it over TCP, since over UDP it would make the answer longer.
// Static answers of a zone file go to everybody over UDP, and by how much they
// exceed their questions is bounded for each network (rate).
//
// # Secondaries
//
// Publish makes of each zone what its secondaries are to hold (content): the
// file, and each lent name as a delegation to this server. Where that has
// changed the serial is raised, the Journal keeps it, and the notifier tells
// them; they copy it whole or by differences, signed (Key). For who comes by
// such a delegation the lent name is a zone of its own.
//
// # Resolvers that minimise names
//
// A resolver that minimises (RFC 9156) asks for a service's host before it asks
// for the service, and an address lent for that is lost until it expires.
// Public learns who does so (detector) and answers their questions for such
// hosts with an alias, a CNAME with TTL 0 that takes no address (aliases). Who
// meant the host asks for the alias and gets an address for the host.
//
// # How it is built
//
// A message goes through three steps. parse reads the wire and rejects what is
// malformed; what is signed, an update or a copy of a zone is read by the library
// instead (special). decide (on Public and Private) is pure: query, zones, directory and,
// on Public, asker and time give a decision, which is a reply, silence, an address
// to allocate or a name to ask upstream. On Public, observe may then turn an
// address into an alias. render writes the reply within its limit. Sockets know none of
// this: serve.go and stream.go carry octets to a responder and back.
//
// # State and concurrency
//
// Public owns its settings, its counters and two bounded tables: the askers that
// minimise, and the numbers of host names in aliases; an array of rates; and
// what zones were, for differences. They are kept over a Reconfigure and lost
// with the process. The Journal outlives it, if it has a Store. Private owns the cache of
// upstream answers and the order of the upstream servers. Settings and
// directory are read once per message, so Reconfigure may be called at any
// time; every exported method is safe for concurrent use. Serve may run several
// times at once, for instance on one SO_REUSEPORT socket per CPU.
package nameserver
