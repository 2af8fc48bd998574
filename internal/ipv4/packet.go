package ipv4

import (
	"encoding/binary"
	"errors"
)

// Octets of headers without options, and the protocols that are read.
const (
	LinkHeader = 14
	IPHeader   = 20
	TCPHeader  = 20
	UDPHeader  = 8

	TCP = 6
	UDP = 17
)

// Flags of TCP (RFC 9293 section 3.1).
const (
	FIN = 0x01
	SYN = 0x02
	RST = 0x04
	PSH = 0x08
	ACK = 0x10
)

// Packet is an IPv4 packet in a frame, and where its parts are.
type Packet struct {
	Frame    []byte // with its link header, without padding
	IP       []byte // all of it
	Header   int    // of IP, octets
	Payload  []byte // behind the header of TCP or UDP; of others behind that of IP
	Sequence uint32 // of TCP, of the payload's first octet
}

// ErrFrame is what Parse says of a frame that holds no whole packet.
var ErrFrame = errors.New("the frame holds no whole packet")

// Parse reads a frame. The packet is in the same octets.
func Parse(frame []byte) (Packet, error) {
	if len(frame) < LinkHeader+IPHeader || frame[LinkHeader]>>4 != 4 {
		return Packet{}, ErrFrame
	}
	ip := frame[LinkHeader:]
	header, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if header < IPHeader || total > len(ip) || total < header {
		return Packet{}, ErrFrame
	}
	p := Packet{Frame: frame[:LinkHeader+total], IP: ip[:total], Header: header, Payload: ip[header:total]}
	switch p.Protocol() {
	case TCP:
		return p.parseTCP()
	case UDP:
		return p.parseUDP()
	}
	return p, nil
}

func (p Packet) parseTCP() (Packet, error) {
	tcp := p.Transport()
	if len(tcp) < TCPHeader {
		return Packet{}, ErrFrame
	}
	offset := int(tcp[12]>>4) * 4
	if offset < TCPHeader || offset > len(tcp) {
		return Packet{}, ErrFrame
	}
	p.Payload, p.Sequence = tcp[offset:], binary.BigEndian.Uint32(tcp[4:])
	if p.Has(SYN) { // it comes before them
		p.Sequence++
	}
	return p, nil
}

// parseUDP leaves out what is behind the datagram's own length.
func (p Packet) parseUDP() (Packet, error) {
	if len(p.Payload) < UDPHeader {
		return Packet{}, ErrFrame
	}
	length := int(binary.BigEndian.Uint16(p.Payload[4:]))
	if length < UDPHeader || length > len(p.Payload) {
		return Packet{}, ErrFrame
	}
	p.Payload = p.Payload[UDPHeader:length]
	return p, nil
}

// Protocol is that of the IP header.
func (p *Packet) Protocol() byte { return p.IP[9] }

// Has reports whether a TCP segment has a flag.
func (p *Packet) Has(flag byte) bool { return p.Transport()[13]&flag != 0 }

// Transport is what the packet has behind its IP header; of a datagram, as long as that says.
func (p *Packet) Transport() []byte {
	transport := p.IP[p.Header:]
	if p.Protocol() == UDP && len(transport) >= UDPHeader {
		if length := int(binary.BigEndian.Uint16(transport[4:])); length < len(transport) {
			return transport[:length]
		}
	}
	return transport
}
