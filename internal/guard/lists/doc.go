// Package lists reads allow and block lists of addresses from files and from URLs, and
// keeps them fresh.
//
// Parse is pure. State decides when a list is fetched again and what is accepted; it is
// pure too, with the clock and the chance passed in. Fetcher does the HTTP, Store keeps
// the last good copy on the disk, and Feed puts the four together. A List and what it
// holds do not change once they are made. Feed's methods may be called concurrently,
// those of State may not.
package lists
