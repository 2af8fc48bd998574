package packets

import "fmt"

// Fragments cuts an IPv4 packet into pieces whose IP payload is at most size
// octets, a multiple of 8 (RFC 791 §3.2). The layers above IP become payload;
// options stay in every piece, as if all had the copied flag.
func (p Packet) Fragments(size int) []Packet {
	if size <= 0 || size%8 != 0 {
		panic(fmt.Sprintf("packets: fragments of %d octets: use a multiple of 8", size))
	}
	body := p.transport(p.IPv4.Source, p.IPv4.Destination, p.protocol(p.IPv4.Protocol))
	var pieces []Packet
	for offset := 0; offset < len(body); offset += size {
		end := min(offset+size, len(body))
		piece := p.Clone()
		piece.IPv4.Protocol = p.protocol(p.IPv4.Protocol)
		piece.IPv4.FragmentOffset = p.IPv4.FragmentOffset + uint16(offset/8)
		piece.IPv4.MF = end < len(body) || p.IPv4.MF
		piece.UDP, piece.TCP, piece.ICMP = nil, nil, nil
		piece.Payload = append([]byte(nil), body[offset:end]...)
		pieces = append(pieces, piece)
	}
	return pieces
}
