package packets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// ErrTruncated and ErrMalformed are what Parse wraps: a frame that ends before
// its lengths say, and one whose lengths or versions contradict each other.
var (
	ErrTruncated = errors.New("truncated")
	ErrMalformed = errors.New("malformed")
)

// Parse reads a frame. The layers read before an error are in the result too.
// Lengths that are right, and checksum values that follow from the rest, are
// left 0. The result shares no memory with frame.
func Parse(frame []byte) (Packet, error) {
	var p Packet
	b := slices.Clone(frame)
	if len(b) < 14 {
		return p, fmt.Errorf("ethernet: %d octets: %w", len(b), ErrTruncated)
	}
	copy(p.Ethernet.Destination[:], b)
	copy(p.Ethernet.Source[:], b[6:])
	p.Ethernet.Type = binary.BigEndian.Uint16(b[12:])
	b = b[14:]
	for p.Ethernet.Type == TypeVLAN || p.Ethernet.Type == TypeQinQ {
		if len(b) < 4 {
			return p, fmt.Errorf("vlan tag: %d octets: %w", len(b), ErrTruncated)
		}
		p.VLANs = append(p.VLANs, VLAN{TPID: p.Ethernet.Type, TCI: binary.BigEndian.Uint16(b)})
		p.Ethernet.Type = binary.BigEndian.Uint16(b[2:])
		b = b[4:]
	}
	err := p.parseNetwork(b, false)
	return p, err
}

// ParseNetwork reads what follows an Ethernet header; etherType says what.
// With partly, the packet may be cut short, as one quoted by an ICMP error is.
func ParseNetwork(etherType uint16, b []byte, partly bool) (Packet, error) {
	p := Packet{Ethernet: Ethernet{Type: etherType}}
	err := p.parseNetwork(slices.Clone(b), partly)
	return p, err
}

func (p *Packet) parseNetwork(b []byte, partly bool) error {
	switch p.Ethernet.Type {
	case TypeARP:
		return p.parseARP(b)
	case TypeIPv4:
		return p.parseIPv4(b, partly)
	case TypeIPv6:
		return p.parseIPv6(b, partly)
	}
	p.Payload = payload(b)
	return nil
}

func (p *Packet) parseARP(b []byte) error {
	if len(b) < 28 {
		return fmt.Errorf("arp: %d octets: %w", len(b), ErrTruncated)
	}
	if !slices.Equal(b[:6], []byte{0, 1, 0x08, 0x00, 6, 4}) {
		return fmt.Errorf("arp: not for IPv4 over Ethernet: %w", ErrMalformed)
	}
	a := &ARP{Operation: binary.BigEndian.Uint16(b[6:])}
	copy(a.SenderMAC[:], b[8:])
	a.SenderIP, _ = netip.AddrFromSlice(b[14:18])
	copy(a.TargetMAC[:], b[18:])
	a.TargetIP, _ = netip.AddrFromSlice(b[24:28])
	p.ARP, p.Trailer = a, payload(b[28:])
	return nil
}

func (p *Packet) parseIPv4(b []byte, partly bool) error {
	if len(b) < 20 {
		return fmt.Errorf("ipv4: %d octets: %w", len(b), ErrTruncated)
	}
	length, total := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 != 4 || length < 20 || total < length {
		return fmt.Errorf("ipv4: version %d, header of %d, packet of %d octets: %w", b[0]>>4, length, total, ErrMalformed)
	}
	if len(b) < length || len(b) < total && !partly {
		return fmt.Errorf("ipv4: %d of %d octets: %w", len(b), total, ErrTruncated)
	}
	fragment := binary.BigEndian.Uint16(b[6:])
	ip := &IPv4{
		Protocol: model.Protocol(b[9]), TTL: b[8], TOS: b[1], ID: binary.BigEndian.Uint16(b[4:]),
		Reserved: fragment&0x8000 != 0, DF: fragment&0x4000 != 0, MF: fragment&0x2000 != 0,
		FragmentOffset: fragment & 0x1fff, Options: payload(b[20:length]),
	}
	ip.Source, _ = netip.AddrFromSlice(b[12:16])
	ip.Destination, _ = netip.AddrFromSlice(b[16:20])
	ip.Checksum, ip.ChecksumValue = classify(b[:length], 10, 0, true, false, false)
	p.IPv4 = ip
	if len(b) < total {
		ip.TotalLength = uint16(total)
	} else {
		b, p.Trailer = b[:total], payload(b[total:])
	}
	if ip.FragmentOffset != 0 {
		p.Payload = payload(b[length:])
		return nil
	}
	whole := !ip.MF && ip.TotalLength == 0
	return p.parseTransport(b[length:], ip.Source, ip.Destination, ip.Protocol, whole, partly || ip.MF)
}

func (p *Packet) parseIPv6(b []byte, partly bool) error {
	if len(b) < 40 {
		return fmt.Errorf("ipv6: %d octets: %w", len(b), ErrTruncated)
	}
	first, length := binary.BigEndian.Uint32(b), int(binary.BigEndian.Uint16(b[4:]))
	if first>>28 != 6 {
		return fmt.Errorf("ipv6: version %d: %w", first>>28, ErrMalformed)
	}
	if len(b) < 40+length && !partly {
		return fmt.Errorf("ipv6: %d of %d octets: %w", len(b)-40, length, ErrTruncated)
	}
	ip := &IPv6{NextHeader: model.Protocol(b[6]), HopLimit: b[7], TrafficClass: uint8(first >> 20), FlowLabel: first & 0xfffff}
	ip.Source, _ = netip.AddrFromSlice(b[8:24])
	ip.Destination, _ = netip.AddrFromSlice(b[24:40])
	p.IPv6 = ip
	if len(b) < 40+length {
		ip.PayloadLength = uint16(length)
	} else {
		b, p.Trailer = b[:40+length], payload(b[40+length:])
	}
	return p.parseTransport(b[40:], ip.Source, ip.Destination, ip.NextHeader, ip.PayloadLength == 0, partly)
}

// payload keeps nil for "nothing", so that packets compare as a test writes them.
func payload(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
