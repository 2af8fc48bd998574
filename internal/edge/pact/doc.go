// Package pact keeps what two edges agreed for one local host and one remote name: numbers, tags, proxy addresses, leases,
// and who has how many.
//
// # Life of a pact
//
//	Open ── Opening ── Settle ──> Live ── End ──> Resting ── last use + Rest ──> gone
//	Accept ─────────────────────> Live      Opening ── Cancel ──> gone
//
// An opening pact has a number, a tag and a proxy address, of which nobody has been told. A live one is, or is about to be,
// in the kernel. Of an ended one only its proxy address is left, which rests: no other key gets it.
//
// # Invariants
//
// Two live or opening pacts never have the same key, number, tag or proxy address. I9: between any use of a proxy address
// and that use + Rest, nobody is given it but the same local host for the same names, and only while the remote name stands
// for the same machine (Other). That holds over Adopt after a restart, and over Reconfigure, also where the range changes
// and changes back.
//
// A tag is use << 16 | number. Numbers are taken longest free first, and every taking raises use, which begins anywhere: a
// tag comes again after 65,536 pacts of its number. So numbers need no rest.
//
// # Bounds
//
// Options.Most pacts, one proxy address each. Options.PerHost bounds what a host asked for, Options.PerEdge what is for one
// peer, each with the addresses that still rest: who opens and ends pacts in a loop comes to that bound, not to the end of
// the range.
//
// # State and concurrency
//
// A Store reads no clock, draws nothing but by Options.Random, does no I/O and starts no goroutine. One goroutine at a time
// may use it. Instant 0 means never.
package pact
