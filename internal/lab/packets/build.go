package packets

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Bytes writes the frame, from the Ethernet header to the trailer.
func (p Packet) Bytes() []byte {
	frame := slices.Concat(p.Ethernet.Destination[:], p.Ethernet.Source[:])
	for _, tag := range p.VLANs {
		tpid := tag.TPID
		if tpid == 0 {
			tpid = TypeVLAN
		}
		frame = binary.BigEndian.AppendUint16(frame, tpid)
		frame = binary.BigEndian.AppendUint16(frame, tag.TCI)
	}
	frame = binary.BigEndian.AppendUint16(frame, p.etherType())
	frame = append(frame, p.Network()...)
	return append(frame, p.Trailer...)
}

// Network writes what follows the Ethernet header, without the trailer: the
// ARP packet, the IP packet, or the payload alone.
func (p Packet) Network() []byte {
	switch {
	case p.ARP != nil:
		return append(p.ARP.bytes(), p.Payload...)
	case p.IPv4 != nil:
		return p.ipv4()
	case p.IPv6 != nil:
		return p.ipv6()
	}
	return slices.Clone(p.Payload)
}

func (p Packet) etherType() uint16 {
	switch {
	case p.Ethernet.Type != 0:
		return p.Ethernet.Type
	case p.ARP != nil:
		return TypeARP
	case p.IPv4 != nil:
		return TypeIPv4
	case p.IPv6 != nil:
		return TypeIPv6
	}
	return 0
}

func (a *ARP) bytes() []byte {
	// Ethernet (1), IPv4, address lengths 6 and 4.
	b := []byte{0, 1, 0x08, 0x00, 6, 4}
	b = binary.BigEndian.AppendUint16(b, a.Operation)
	sender, target := a.SenderIP.As4(), a.TargetIP.As4()
	return slices.Concat(b, a.SenderMAC[:], sender[:], a.TargetMAC[:], target[:])
}

func (p Packet) ipv4() []byte {
	ip := p.IPv4
	options := padded(ip.Options)
	length := 20 + len(options)
	protocol := p.protocol(ip.Protocol)
	body := p.transport(ip.Source, ip.Destination, protocol)

	b := make([]byte, length, length+len(body))
	headerLength, totalLength := ip.HeaderLength, ip.TotalLength
	if headerLength == 0 {
		headerLength = uint8(length / 4)
	}
	if totalLength == 0 {
		totalLength = uint16(length + len(body))
	}
	b[0] = 4<<4 | headerLength&0xf
	b[1] = ip.TOS
	binary.BigEndian.PutUint16(b[2:], totalLength)
	binary.BigEndian.PutUint16(b[4:], ip.ID)
	fragment := ip.FragmentOffset & 0x1fff
	for i, set := range []bool{ip.MF, ip.DF, ip.Reserved} {
		if set {
			fragment |= 0x2000 << i
		}
	}
	binary.BigEndian.PutUint16(b[6:], fragment)
	b[8] = ip.TTL
	b[9] = byte(protocol)
	source, destination := ip.Source.As4(), ip.Destination.As4()
	copy(b[12:], source[:])
	copy(b[16:], destination[:])
	copy(b[20:], options)
	binary.BigEndian.PutUint16(b[10:], checksumField(ip.Checksum, ip.ChecksumValue, 0, b, false))
	return append(b, body...)
}

func (p Packet) ipv6() []byte {
	ip := p.IPv6
	next := p.protocol(ip.NextHeader)
	body := p.transport(ip.Source, ip.Destination, next)
	b := make([]byte, 40, 40+len(body))
	binary.BigEndian.PutUint32(b, 6<<28|uint32(ip.TrafficClass)<<20|ip.FlowLabel&0xfffff)
	payloadLength := ip.PayloadLength
	if payloadLength == 0 {
		payloadLength = uint16(len(body))
	}
	binary.BigEndian.PutUint16(b[4:], payloadLength)
	b[6] = byte(next)
	b[7] = ip.HopLimit
	source, destination := ip.Source.As16(), ip.Destination.As16()
	copy(b[8:], source[:])
	copy(b[24:], destination[:])
	return append(b, body...)
}

func (p Packet) protocol(set model.Protocol) model.Protocol {
	switch {
	case set != 0:
		return set
	case p.UDP != nil:
		return model.UDP
	case p.TCP != nil:
		return model.TCP
	case p.ICMP != nil && p.IPv6 != nil:
		return ICMPv6
	case p.ICMP != nil:
		return model.ICMP
	}
	return 0
}

// transport writes the layer above IP and the payload.
func (p Packet) transport(source, destination netip.Addr, protocol model.Protocol) []byte {
	var header []byte
	var at int // of the checksum in the header
	var kind Checksum
	var value uint16
	switch {
	case p.UDP != nil:
		header, at, kind, value = p.UDP.header(len(p.Payload)), 6, p.UDP.Checksum, p.UDP.ChecksumValue
	case p.TCP != nil:
		header, at, kind, value = p.TCP.header(), 16, p.TCP.Checksum, p.TCP.ChecksumValue
	case p.ICMP != nil:
		header = []byte{p.ICMP.Type, p.ICMP.Code, 0, 0}
		header = binary.BigEndian.AppendUint32(header, p.ICMP.Rest)
		at, kind, value = 2, p.ICMP.Checksum, p.ICMP.ChecksumValue
	default:
		return slices.Clone(p.Payload)
	}
	b := append(header, p.Payload...)
	var pseudo uint32
	if p.ICMP == nil || source.Is6() { // ICMP over IPv4 has no pseudo-header
		pseudo = pseudoSum(source, destination, protocol, len(b))
	}
	binary.BigEndian.PutUint16(b[at:], checksumField(kind, value, pseudo, b, p.UDP != nil))
	return b
}

func (u *UDP) header(payload int) []byte {
	length := u.Length
	if length == 0 {
		length = uint16(8 + payload)
	}
	b := binary.BigEndian.AppendUint16(nil, u.Source)
	b = binary.BigEndian.AppendUint16(b, u.Destination)
	b = binary.BigEndian.AppendUint16(b, length)
	return append(b, 0, 0)
}

func (t *TCP) header() []byte {
	options := padded(t.Options)
	offset := t.DataOffset
	if offset == 0 {
		offset = uint8(5 + len(options)/4)
	}
	b := binary.BigEndian.AppendUint16(nil, t.Source)
	b = binary.BigEndian.AppendUint16(b, t.Destination)
	b = binary.BigEndian.AppendUint32(b, t.Sequence)
	b = binary.BigEndian.AppendUint32(b, t.Acknowledge)
	b = append(b, offset<<4, byte(t.Flags))
	b = binary.BigEndian.AppendUint16(b, t.Window)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint16(b, t.Urgent)
	return append(b, options...)
}

// padded returns options with zeros (end of options) up to a multiple of 4.
func padded(options []byte) []byte {
	if len(options) > 40 {
		panic(fmt.Sprintf("packets: %d octets of options: a header holds at most 40", len(options)))
	}
	return append(slices.Clone(options), make([]byte, -len(options)&3)...)
}
