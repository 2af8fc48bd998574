// Package ipv4 reads frames with packets of IPv4 that the data plane has handed to the daemon, so that they can be sent again: their
// parts, their checksums, and the packets of which an aggregate is. It keeps nothing; a packet is for one goroutine at a time.
//
// Frames have been parsed by the data plane, and are read once more, in place, as they come by a ring. gopacket reads packets, but divides
// no aggregate; internal/lab/packets makes packets field by field for tests, and panics.
package ipv4
