package wire

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// What a tunnel packet is: GENEVE (RFC 8926) over UDP over IPv4, with one critical option of an experimental class.
const (
	GENEVEPort  = 6081
	OptionClass = 0xff52
	Overhead    = 48 // octets in front of the inner packet
)

// Where parts of the header begin, in octets of the outer packet.
const (
	atUDP           = 20
	atGENEVE        = 28
	atOption        = 36
	atAuthenticator = 40

	flagControl  = 0x80 // O: for the receiver's daemon, no inner packet
	flagCritical = 0x40 // C: an option has to be understood
	typeCritical = 0x80 // of the option's type; the other seven bits are the epoch
	etherIPv4    = 0x0800
)

// ErrHeader is of an outer packet that is not as an edge writes it (drop_edge_malformed), ErrFragment of one that is a
// fragment (drop_edge_fragment).
var (
	ErrHeader   = errors.New("not a tunnel packet as an edge writes it")
	ErrFragment = errors.New("a fragment of a tunnel packet")
)

// Header is what one tunnel packet says in front of its inner packet.
type Header struct {
	Local, Remote netip.Addr // outer source and destination
	SourcePort    uint16     // of UDP: 49152 and above, by the inner flow
	VNI           uint32     // 24 bits: the link at the receiver
	Epoch         uint8      // 0 to 127: which key
	TOS           uint8      // outer; an edge writes the inner packet's ECN and DSCP 0 (RFC 6040)
	Key           [16]byte   // of direction and epoch; Decapsulate does not know it
	Authenticator uint64     // as Decapsulate read it; Encapsulate computes it
}

// Encapsulate returns the outer packet of an inner IPv4 packet whose addresses are tags and whose checksums are right.
// docs/design/edges.md shows the header octet for octet.
func Encapsulate(h Header, inner []byte) []byte {
	p := make([]byte, Overhead, Overhead+len(inner))
	local, remote := h.Local.As4(), h.Remote.As4()
	p[0], p[1] = 0x45, h.TOS
	binary.BigEndian.PutUint16(p[2:], uint16(Overhead+len(inner)))
	p[6] = 0x40 // DF; so the identification may be 0 (RFC 6864)
	p[8], p[9] = 64, 17
	copy(p[12:], local[:])
	copy(p[16:], remote[:])
	binary.BigEndian.PutUint16(p[10:], ^sum(p[:20]))
	binary.BigEndian.PutUint16(p[atUDP:], h.SourcePort)
	binary.BigEndian.PutUint16(p[atUDP+2:], GENEVEPort)
	binary.BigEndian.PutUint16(p[atUDP+4:], uint16(Overhead-atUDP+len(inner))) // no checksum (RFC 6935)
	putGENEVE(p[atGENEVE:], h, 0, Authenticator(h.Key, h.VNI, inner))
	return append(p, inner...)
}

// putGENEVE writes the 20 octets of GENEVE and its option.
func putGENEVE(p []byte, h Header, flags uint8, authenticator uint64) {
	p[0], p[1] = 3, flagCritical|flags
	binary.BigEndian.PutUint16(p[2:], etherIPv4)
	binary.BigEndian.PutUint32(p[4:], h.VNI<<8)
	binary.BigEndian.PutUint16(p[8:], OptionClass)
	p[10], p[11] = typeCritical|h.Epoch&0x7f, 2
	binary.LittleEndian.PutUint64(p[12:], authenticator)
}

// readGENEVE reads what putGENEVE wrote. Reserved bits are not looked at (RFC 8926 section 3.4).
func readGENEVE(p []byte) (h Header, flags uint8, ok bool) {
	if len(p) < Overhead-atGENEVE || p[0] != 3 || p[1]&flagCritical == 0 || binary.BigEndian.Uint16(p[2:]) != etherIPv4 ||
		binary.BigEndian.Uint16(p[8:]) != OptionClass || p[10]&typeCritical == 0 || p[11]&0x1f != 2 {
		return Header{}, 0, false
	}
	h.VNI, h.Epoch = binary.BigEndian.Uint32(p[4:])>>8, p[10]&0x7f
	h.Authenticator = binary.LittleEndian.Uint64(p[12:])
	return h, p[1], true
}

// Decapsulate reads an outer packet. Octets behind its total length are a link's padding. It knows no key: whether the
// authenticator is right, the caller asks Authenticator. The inner packet is a part of the outer one, not a copy.
func Decapsulate(packet []byte) (Header, []byte, error) {
	if len(packet) < Overhead+20 || packet[0] != 0x45 || packet[9] != 17 || sum(packet[:20]) != 0xffff {
		return Header{}, nil, ErrHeader
	}
	total := int(binary.BigEndian.Uint16(packet[2:]))
	if total < Overhead+20 || total > len(packet) {
		return Header{}, nil, ErrHeader
	}
	if binary.BigEndian.Uint16(packet[6:])&0x3fff != 0 { // MF and offset
		return Header{}, nil, ErrFragment
	}
	udp := packet[atUDP:total]
	h, flags, ok := readGENEVE(packet[atGENEVE:total])
	if !ok || flags&flagControl != 0 || binary.BigEndian.Uint16(udp[2:]) != GENEVEPort ||
		int(binary.BigEndian.Uint16(udp[4:])) != len(udp) || binary.BigEndian.Uint16(udp[6:]) != 0 {
		return Header{}, nil, ErrHeader
	}
	inner := packet[Overhead:total]
	if head := int(inner[0]&0x0f) * 4; inner[0]>>4 != 4 || head < 20 || head > len(inner) || int(binary.BigEndian.Uint16(inner[2:])) != len(inner) {
		return Header{}, nil, ErrHeader
	}
	h.Local, h.Remote = netip.AddrFrom4([4]byte(packet[12:])), netip.AddrFrom4([4]byte(packet[16:]))
	h.SourcePort, h.TOS = binary.BigEndian.Uint16(udp), packet[1]
	return h, inner, nil
}

// ECN returns the field of a packet that comes out of the tunnel (RFC 6040 section 4.2), given the TOS octets of the outer
// and the inner header, and whether it may come out: a mark of congestion on a packet whose sender knows none may not.
func ECN(outer, inner uint8) (field uint8, passes bool) {
	const notCapable, ect0, ect1, congested = 0, 2, 1, 3
	outer, inner = outer&3, inner&3
	switch {
	case outer == congested && inner == notCapable:
		return inner, false
	case outer == congested:
		return congested, true
	case outer == ect1 && inner == ect0:
		return ect1, true
	}
	return inner, true
}

// sum adds 16-bit words in ones' complement (RFC 1071); an odd octet counts as the first of its word.
func sum(octets []byte) uint16 {
	var total uint32
	for ; len(octets) >= 2; octets = octets[2:] {
		total += uint32(binary.BigEndian.Uint16(octets))
	}
	if len(octets) == 1 {
		total += uint32(octets[0]) << 8
	}
	for total > 0xffff {
		total = total&0xffff + total>>16
	}
	return uint16(total)
}
