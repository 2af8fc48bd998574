// Package packets writes and reads the frames that tests put into the data
// plane and get back: Ethernet with VLAN tags, ARP, IPv4 with options and
// fragments, IPv6, UDP, TCP and ICMP with the packet an error quotes.
//
// A Packet says what a frame holds. Bytes writes it with right lengths and
// checksums unless a field asks for wrong ones; Parse reads a frame back into
// the same form, so that parsing and writing again gives the same bytes.
//
// The package keeps no state. A Packet is a value, but its layers are
// pointers: Clone it before changing a layer that another Packet shares.
// Everything may be used from several goroutines as long as no Packet is
// written by one while another reads it.
//
// It is made for tests and the lab: given a Packet that cannot be written (an
// IPv6 address in an IPv4 header), it panics.
package packets
