// Package dynamic has the hosts that register themselves: by a lease of a DHCP server, by an update of DNS, or by a line of a
// file that something else writes. A host is added and taken away by itself, however many others there are.
//
// # Who may what
//
// A table decides it, which does no I/O and is told the time. Names are of the entry's zone, one label below it, and addresses
// of its prefixes. Whatever the configuration has, or answers for by a wildcard, is not to be had. Who has a name keeps it
// until its own lease ends, whoever else says that it has it. An entry has so many hosts at most, and each of its prefixes its
// part of them. So a neighbour can take nothing from others by what it calls itself.
//
// # What is lost
//
// A host that is missing in one reading of a file is taken for gone only when the next has it not either: programs rewrite
// their files in place. Names and who has them are in the store, so that a restart gives no name to somebody else.
//
// # Concurrency
//
// A Service may be used by several goroutines. One at a time changes the table and what is made of it.
package dynamic
