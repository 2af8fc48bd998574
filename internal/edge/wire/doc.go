// Package wire is what two edges say to each other: the messages of a link, one JSON object in a frame of known length,
// and the header of a tunnel packet, of which this is the reference and bpf/tunnel/header.h the fast copy.
//
// It keeps no state and does no I/O but Read's. Whatever a peer sends is bounded here, in length, depth and count, before
// anybody looks at what it means. Every message that Decode returns, Append writes again.
package wire
