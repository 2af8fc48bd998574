package packets

import (
	"encoding/binary"
	"fmt"
)

// genevePort is IANA's (RFC 8926 section 3.3).
const genevePort = 6081

// Tunnelled reads the IPv4 packet inside a GENEVE packet over UDP, and the VNI; false where there is none.
func (p Packet) Tunnelled() (inner Packet, vni uint32, found bool) {
	if p.UDP == nil || p.UDP.Destination != genevePort || len(p.Payload) < 8 || p.Payload[0]>>6 != 0 || binary.BigEndian.Uint16(p.Payload[2:]) != TypeIPv4 {
		return Packet{}, 0, false
	}
	header := 8 + int(p.Payload[0]&0x3f)*4
	if len(p.Payload) < header {
		return Packet{}, 0, false
	}
	inner, err := ParseNetwork(TypeIPv4, p.Payload[header:], true)
	return inner, binary.BigEndian.Uint32(p.Payload[4:]) >> 8, err == nil
}

// tunnelled says what is inside, "" for nothing.
func (p Packet) tunnelled() string {
	inner, vni, found := p.Tunnelled()
	if !found {
		return ""
	}
	return fmt.Sprintf(", geneve %#06x: %s", vni, inner)
}
