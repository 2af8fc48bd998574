package ask

import (
	"encoding/binary"

	"github.com/realmgate/realmgate/internal/ipv4"
)

// parsePackets reads a frame that is held, and completes the packets in it: an aggregate is several, of each octets. A wrong checksum
// stays, and is for who gets the packet to find.
func parsePackets(octets []byte, each int) ([]ipv4.Packet, error) {
	whole, err := ipv4.Parse(octets)
	if err != nil {
		return nil, err
	}
	list := whole.Divide(each)
	list[0].Complete()
	return list, nil
}

// bare is a segment with the addresses and ports of p alone, and a flag.
func bare(p *ipv4.Packet, flags byte) ipv4.Packet {
	octets := append([]byte{}, p.Frame[:ipv4.LinkHeader+p.Header+ipv4.TCPHeader]...)
	r := ipv4.Packet{Frame: octets, IP: octets[ipv4.LinkHeader:], Header: p.Header}
	tcp := r.Transport()
	tcp[12], tcp[13] = ipv4.TCPHeader/4<<4, flags
	return r
}

// reset is an RST in the place of the segment, from its sender, by a number.
func reset(p *ipv4.Packet, sequence uint32) []byte {
	r := bare(p, ipv4.RST|ipv4.ACK)
	binary.BigEndian.PutUint32(r.Transport()[4:], sequence)
	r.Seal()
	return r.Frame
}

// refusal is an RST to its sender, by the number that it acknowledges.
func refusal(p *ipv4.Packet) []byte {
	r := bare(p, ipv4.RST)
	copy(r.Frame, p.Frame[6:12])
	copy(r.Frame[6:], p.Frame[:6])
	copy(r.IP[12:], p.IP[16:20])
	copy(r.IP[16:], p.IP[12:16])
	r.IP[8] = 64
	tcp, of := r.Transport(), p.Transport()
	copy(tcp, of[2:4])
	copy(tcp[2:], of[:2])
	copy(tcp[4:], of[8:12])
	clear(tcp[8:12])
	r.Seal()
	return r.Frame
}
