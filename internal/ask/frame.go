package ask

import (
	"encoding/binary"
	"errors"
)

// Where headers are, and what TCP has in its flags. Frames have been parsed by the data plane; what is read here is read once
// more only since it comes by a ring. internal/lab/packets makes and reads packets field by field for tests, and panics.
const (
	linkHeader = 14
	ipHeader   = 20
	tcpHeader  = 20
	udpHeader  = 8

	protocolTCP = 6
	protocolUDP = 17

	flagFIN = 0x01
	flagRST = 0x04
	flagPSH = 0x08
	flagACK = 0x10
)

// packet is an IPv4 packet in a frame, and where its parts are.
type packet struct {
	frame    []byte // with its link header, without padding
	ip       []byte // all of it
	header   int    // of IP, octets
	payload  []byte // behind the header of TCP or UDP; of others behind that of IP
	sequence uint32 // of the payload's first octet
	tcp      bool
}

var errFrame = errors.New("the frame holds no whole packet")

func parsePacket(frame []byte) (packet, error) {
	if len(frame) < linkHeader+ipHeader || frame[linkHeader]>>4 != 4 {
		return packet{}, errFrame
	}
	ip := frame[linkHeader:]
	header, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if header < ipHeader || total > len(ip) || total < header {
		return packet{}, errFrame
	}
	p := packet{frame: frame[:linkHeader+total], ip: ip[:total], header: header, payload: ip[header:total]}
	switch transport := ip[header:total]; ip[9] {
	case protocolTCP:
		if len(transport) < tcpHeader || int(transport[12]>>4)*4 > len(transport) {
			return packet{}, errFrame
		}
		p.tcp, p.payload = true, transport[int(transport[12]>>4)*4:]
		p.sequence = binary.BigEndian.Uint32(transport[4:])
		if transport[13]&2 != 0 { // the SYN comes before them
			p.sequence++
		}
	case protocolUDP:
		if len(transport) < udpHeader {
			return packet{}, errFrame
		}
		p.payload = transport[udpHeader:]
	}
	return p, nil
}

// transport is what the packet has behind its IP header.
func (p *packet) transport() []byte { return p.ip[p.header:] }

// checksumField is where a transport's checksum is, nil where it has none.
func (p *packet) checksumField() []byte {
	switch p.ip[9] {
	case protocolTCP:
		return p.transport()[16:18]
	case protocolUDP:
		return p.transport()[6:8]
	}
	return nil
}

// complete fills a checksum that is that of the pseudo-header alone: its sender has left the rest to an interface, and nothing
// fills it in what is sent again. A wrong one stays, and is for who gets the packet to find.
func (p *packet) complete() {
	field := p.checksumField()
	if field != nil && binary.BigEndian.Uint16(field) == fold(p.pseudoSum()) && fold(p.pseudoSum()+sum(p.transport())) != 0xffff {
		p.sign()
	}
}

// sign writes the transport's checksum.
func (p *packet) sign() {
	field := p.checksumField()
	field[0], field[1] = 0, 0
	made := ^fold(p.pseudoSum() + sum(p.transport()))
	if made == 0 && p.ip[9] == protocolUDP {
		made = 0xffff // 0 is none (RFC 768)
	}
	binary.BigEndian.PutUint16(field, made)
}

// seal writes both lengths and checksums, of a packet that was made of another.
func (p *packet) seal() {
	binary.BigEndian.PutUint16(p.ip[2:], uint16(len(p.ip)))
	if p.ip[9] == protocolUDP {
		binary.BigEndian.PutUint16(p.transport()[4:], uint16(len(p.transport())))
	}
	p.ip[10], p.ip[11] = 0, 0
	binary.BigEndian.PutUint16(p.ip[10:], ^fold(sum(p.ip[:p.header])))
	p.sign()
}

// split makes the packets of which an aggregate is, of each octets but the last; a packet stays one.
func (p *packet) split(each int) (list []packet) {
	if each <= 0 || len(p.payload) <= each {
		p.complete()
		return []packet{*p}
	}
	headers := len(p.frame) - len(p.payload)
	for at, rest := 0, p.payload; len(rest) > 0; at++ {
		n := min(each, len(rest))
		frame := append(append(make([]byte, 0, headers+n), p.frame[:headers]...), rest[:n]...)
		rest = rest[n:]
		one := packet{frame: frame, ip: frame[linkHeader:], header: p.header, payload: frame[headers:], tcp: p.tcp}
		binary.BigEndian.PutUint16(one.ip[4:], binary.BigEndian.Uint16(p.ip[4:])+uint16(at)) // the identification
		if p.tcp {
			one.sequence = p.sequence + uint32(at*each)
			binary.BigEndian.PutUint32(one.transport()[4:], one.sequence)
			if len(rest) > 0 {
				one.transport()[13] &^= flagFIN | flagPSH
			}
		}
		one.seal()
		list = append(list, one)
	}
	return list
}

// reset is an RST in the place of the segment, from its sender.
func (p *packet) reset() []byte {
	frame := append([]byte{}, p.frame[:linkHeader+p.header+tcpHeader]...)
	r := packet{frame: frame, ip: frame[linkHeader:], header: p.header, tcp: true}
	tcp := r.transport()
	binary.BigEndian.PutUint32(tcp[4:], p.sequence)
	tcp[12], tcp[13] = tcpHeader/4<<4, flagRST|flagACK
	r.seal()
	return frame
}

// refusal is an RST to its sender, by the number that it acknowledges.
func (p *packet) refusal() []byte {
	frame := append([]byte{}, p.frame[:linkHeader+p.header+tcpHeader]...)
	copy(frame, p.frame[6:12])
	copy(frame[6:], p.frame[:6])
	r := packet{frame: frame, ip: frame[linkHeader:], header: p.header, tcp: true}
	copy(r.ip[12:], p.ip[16:20])
	copy(r.ip[16:], p.ip[12:16])
	r.ip[8] = 64
	tcp, of := r.transport(), p.transport()
	copy(tcp, of[2:4])
	copy(tcp[2:], of[:2])
	copy(tcp[4:], of[8:12])
	clear(tcp[8:12])
	tcp[12], tcp[13] = tcpHeader/4<<4, flagRST
	r.seal()
	return frame
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

// pseudoSum is that of the pseudo-header (RFC 9293 section 3.1).
func (p *packet) pseudoSum() uint32 {
	return sum(p.ip[12:20]) + uint32(p.ip[9]) + uint32(len(p.transport()))
}
