// Package jail follows the log of another program and tells who offends: addresses, and
// /64s of IPv6, that occur in lines of a pattern N times within T.
//
// A log is a file, which may be rotated, or what a command writes. A command is an argument
// vector and is executed as such: no shell sees it, nor any part of a line.
//
// # Whose address it is
//
// Most lines hold text that strangers chose. A pattern says in which place of the line the
// address stands, and Compile refuses one for which a line with two such places exists:
// whoever can write the second one would have somebody else banned. What stands in the place
// counts only if the whole of it is an address.
//
// # State and concurrency
//
// A Jail owns what it counted since Run was called, in memory alone; each kind of it is
// bounded. Run is called once; Status may be called at any time, by anybody.
package jail
