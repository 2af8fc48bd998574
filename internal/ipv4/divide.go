package ipv4

import (
	"encoding/binary"
	"slices"
)

const dontFragment = 0x40

// Divide makes the packets of which an aggregate is, that a sender or the kernel has joined: each octets in each but the last. They
// are as segmentation makes them, as nothing would divide what is sent again before a link that is too narrow for it. A packet that is
// none stays what it is.
func (p *Packet) Divide(each int) []Packet {
	if each <= 0 || len(p.Payload) <= each {
		return []Packet{*p}
	}
	var list []Packet
	headers := p.Frame[:LinkHeader+p.Header+len(p.Transport())-len(p.Payload)]
	for at, rest := 0, p.Payload; len(rest) > 0; at += each {
		data := rest[:min(each, len(rest))]
		rest = rest[len(data):]
		one := Packet{Frame: slices.Concat(headers, data), Header: p.Header, Sequence: p.Sequence + uint32(at)}
		one.IP, one.Payload = one.Frame[LinkHeader:], one.Frame[len(headers):]
		if p.Protocol() == TCP || p.IP[6]&dontFragment == 0 { // else it says nothing (RFC 6864 section 4.1)
			binary.BigEndian.PutUint16(one.IP[4:], binary.BigEndian.Uint16(p.IP[4:])+uint16(at/each))
		}
		if p.Protocol() == TCP {
			tcp := one.IP[one.Header:]
			binary.BigEndian.PutUint32(tcp[4:], binary.BigEndian.Uint32(tcp[4:])+uint32(at))
			if len(rest) > 0 {
				tcp[13] &^= FIN | PSH // of the last alone
			}
		}
		one.Seal()
		list = append(list, one)
	}
	return list
}
