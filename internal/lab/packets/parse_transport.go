package packets

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// parseTransport reads the layer above IP. whole says that all octets of the
// datagram are in b, so that its checksum can be judged; partly, that b may end
// inside the header: what is left then is payload.
func (p *Packet) parseTransport(b []byte, source, destination netip.Addr, protocol model.Protocol, whole, partly bool) error {
	pseudo := pseudoSum(source, destination, protocol, len(b))
	switch {
	case protocol == model.UDP && len(b) >= 8:
		p.parseUDP(b, pseudo, whole)
	case protocol == model.TCP && len(b) >= 20:
		return p.parseTCP(b, pseudo, whole)
	case protocol == model.ICMP && source.Is4() && len(b) >= 8:
		p.parseICMP(b, 0, whole)
	case protocol == ICMPv6 && source.Is6() && len(b) >= 8:
		p.parseICMP(b, pseudo, whole)
	default:
		p.Payload = payload(b)
		known := protocol == model.UDP || protocol == model.TCP ||
			protocol == model.ICMP && source.Is4() || protocol == ICMPv6 && source.Is6()
		if known && !partly {
			return fmt.Errorf("protocol %s: header of %d octets: %w", protocol, len(b), ErrTruncated)
		}
	}
	return nil
}

func (p *Packet) parseUDP(b []byte, pseudo uint32, whole bool) {
	u := &UDP{
		Source:      binary.BigEndian.Uint16(b),
		Destination: binary.BigEndian.Uint16(b[2:]),
		Length:      binary.BigEndian.Uint16(b[4:]),
	}
	if int(u.Length) == len(b) {
		u.Length = 0
	}
	u.Checksum, u.ChecksumValue = classify(b, 6, pseudo, whole, true, true)
	p.UDP, p.Payload = u, payload(b[8:])
}

func (p *Packet) parseTCP(b []byte, pseudo uint32, whole bool) error {
	t := &TCP{
		Source:      binary.BigEndian.Uint16(b),
		Destination: binary.BigEndian.Uint16(b[2:]),
		Sequence:    binary.BigEndian.Uint32(b[4:]),
		Acknowledge: binary.BigEndian.Uint32(b[8:]),
		Flags:       Flags(b[13]),
		Window:      binary.BigEndian.Uint16(b[14:]),
		Urgent:      binary.BigEndian.Uint16(b[18:]),
	}
	t.Checksum, t.ChecksumValue = classify(b, 16, pseudo, whole, false, true)
	p.TCP = t
	length := int(b[12]>>4) * 4
	if length < 20 || length > len(b) {
		t.DataOffset, p.Payload = b[12]>>4, payload(b[20:])
		return fmt.Errorf("tcp: header of %d in %d octets: %w", length, len(b), ErrMalformed)
	}
	t.Options, p.Payload = payload(b[20:length]), payload(b[length:])
	return nil
}

func (p *Packet) parseICMP(b []byte, pseudo uint32, whole bool) {
	c := &ICMP{Type: b[0], Code: b[1], Rest: binary.BigEndian.Uint32(b[4:])}
	c.Checksum, c.ChecksumValue = classify(b, 2, pseudo, whole, false, pseudo != 0)
	p.ICMP, p.Payload = c, payload(b[8:])
}
