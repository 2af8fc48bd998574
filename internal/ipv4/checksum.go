package ipv4

import "encoding/binary"

// Complete reports whether the transport's checksum is right. One that is that of the pseudo-header alone it fills: its sender has
// left the rest to an interface, and nothing fills it in what is sent again. A datagram without one is as good (RFC 768).
func (p *Packet) Complete() bool {
	field := p.checksumField()
	if field == nil {
		return true
	}
	said := binary.BigEndian.Uint16(field)
	switch {
	case p.Protocol() == UDP && said == 0, fold(p.pseudo()+sum(p.Transport())) == 0xffff:
		return true
	case said == fold(p.pseudo()):
		p.sign()
		return true
	}
	return false
}

// Leave makes the checksum that of the pseudo-header alone, as a sender does that leaves the rest to its interface.
func (p *Packet) Leave() { binary.BigEndian.PutUint16(p.checksumField(), fold(p.pseudo())) }

// Seal writes both lengths and checksums, of a packet that was made or changed.
func (p *Packet) Seal() {
	binary.BigEndian.PutUint16(p.IP[2:], uint16(len(p.IP)))
	if p.Protocol() == UDP {
		binary.BigEndian.PutUint16(p.IP[p.Header+4:], uint16(len(p.IP)-p.Header))
	}
	p.IP[10], p.IP[11] = 0, 0
	binary.BigEndian.PutUint16(p.IP[10:], ^fold(sum(p.IP[:p.Header])))
	p.sign()
}

// checksumField is where the transport's checksum is, nil where it has none.
func (p *Packet) checksumField() []byte {
	switch p.Protocol() {
	case TCP:
		return p.Transport()[16:18]
	case UDP:
		return p.Transport()[6:8]
	}
	return nil
}

func (p *Packet) sign() {
	field := p.checksumField()
	if field == nil {
		return
	}
	field[0], field[1] = 0, 0
	made := ^fold(p.pseudo() + sum(p.Transport()))
	if made == 0 && p.Protocol() == UDP {
		made = 0xffff // 0 is none (RFC 768)
	}
	binary.BigEndian.PutUint16(field, made)
}

// pseudo is the sum of the pseudo-header (RFC 9293 section 3.1).
func (p *Packet) pseudo() uint32 {
	return sum(p.IP[12:20]) + uint32(p.Protocol()) + uint32(len(p.Transport()))
}

// sum adds octets up as RFC 1071 does, but for the fold; 64 KiB at most.
func sum(octets []byte) (total uint32) {
	for ; len(octets) > 1; octets = octets[2:] {
		total += uint32(octets[0])<<8 | uint32(octets[1])
	}
	if len(octets) == 1 {
		total += uint32(octets[0]) << 8
	}
	return total
}

func fold(total uint32) uint16 {
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}
