package hello

import (
	"encoding/binary"

	"golang.org/x/crypto/cryptobyte"
)

const (
	longHeader = 0x80 // RFC 9000 §17.2; the bit after it may be greased (RFC 9287)

	typeInitial = 0
	typeRetry   = 3
	maxID       = 20 // octets of a connection ID in versions 1 and 2
	leastID     = 8  // of the first destination's (RFC 9000 §7.2)
)

// packet is a packet with a long header, still protected.
type packet struct {
	version     *version
	initial     bool
	destination []byte
	header      []byte // up to the packet number
	payload     []byte // packet number and what is encrypted
}

// readPacket takes a packet off a datagram (RFC 9000 §17.2).
func readPacket(rest *cryptobyte.String) (p packet, err error) {
	start := *rest
	var first uint8
	var number uint32
	if !rest.ReadUint8(&first) || !rest.ReadUint32(&number) {
		return p, malformed("a packet of QUIC that ends early")
	}
	if p.version = versions[number]; p.version == nil {
		return p, ErrVersion
	}
	var source cryptobyte.String
	if !rest.ReadUint8LengthPrefixed((*cryptobyte.String)(&p.destination)) || len(p.destination) > maxID ||
		!rest.ReadUint8LengthPrefixed(&source) || len(source) > maxID {
		return p, malformed("a packet of QUIC with a wrong connection ID")
	}
	kind := (first>>4 - p.version.shift) & 3
	if kind == typeRetry {
		return p, malformed("a Retry from a client of QUIC")
	}
	p.initial = kind == typeInitial
	var token []byte
	if p.initial && !readVarBytes(rest, &token) {
		return p, malformed("a token of QUIC that ends early")
	}
	var length uint64
	if !readVarint(rest, &length) || length > uint64(len(*rest)) {
		return p, malformed("a packet of QUIC that is shorter than it says")
	}
	p.header = start[:len(start)-len(*rest)]
	rest.ReadBytes(&p.payload, int(length))
	return p, nil
}

// readVarint reads an integer of RFC 9000 §16.
func readVarint(s *cryptobyte.String, out *uint64) bool {
	if s.Empty() {
		return false
	}
	length := 1 << ((*s)[0] >> 6)
	var octets [8]byte
	if !s.CopyBytes(octets[8-length:]) {
		return false
	}
	octets[8-length] &= 0x3f
	*out = binary.BigEndian.Uint64(octets[:])
	return true
}

// readVarBytes reads octets after their number.
func readVarBytes(s *cryptobyte.String, out *[]byte) bool {
	var length uint64
	return readVarint(s, &length) && length <= uint64(len(*s)) && s.ReadBytes(out, int(length))
}
