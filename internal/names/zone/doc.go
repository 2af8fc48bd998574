// Package zone reads zone files (RFC 1035 §5) and says what is in them.
//
// A Zone is the static part of a zone: what does not depend on who asks, such as
// MX, TXT and delegations. It is made once, checked beside what the realm puts
// into the zone, and never changed, so it is safe for concurrent use. The
// package opens no files: Parse takes a reader. Every problem of a file names
// its line.
//
// Names are text in canonical form, as the DNS library unpacks them from the
// wire, in lower case. All methods work on a nil *Zone, which is empty.
package zone
