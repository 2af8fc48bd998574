// Package gateway is the daemon: the only package that knows all the others. It
// turns the configuration into their options, starts, reloads and stops them,
// and carries what they say to each other: a name's question through admission
// and pool into the data plane, the data plane's claims back to the pool.
//
// One mutex guards pool, admission and the order in which reservations change
// in the data plane. Nothing waits while holding it.
package gateway
