package packets

import (
	"encoding/binary"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// TTL and Window are what the constructors put in.
const (
	TTL    = 64
	Window = 65535
)

// ICMP types (RFC 792); the ones of RFC 4443 end in 6.
const (
	EchoReply              uint8 = 0
	DestinationUnreachable uint8 = 3
	EchoRequest            uint8 = 8
	TimeExceeded           uint8 = 11
	ParameterProblem       uint8 = 12
	EchoRequest6           uint8 = 128
	EchoReply6             uint8 = 129
	NeighborSolicitation6  uint8 = 135
)

// At reads "10.0.0.100:40000". It panics on anything else, as a mistake in a
// test's table should.
func At(endpoint string) netip.AddrPort { return netip.MustParseAddrPort(endpoint) }

// NewUDP returns a UDP packet; IPv4 or IPv6 by the addresses, which must be of
// one family. Its Ethernet addresses are zero: see Between.
func NewUDP(source, destination netip.AddrPort, payload string) Packet {
	p := ip(source.Addr(), destination.Addr())
	p.UDP = &UDP{Source: source.Port(), Destination: destination.Port()}
	p.Payload = octets(payload)
	return p
}

// NewTCP returns a TCP segment with the given flags and payload; sequence
// numbers are zero.
func NewTCP(source, destination netip.AddrPort, flags Flags, payload string) Packet {
	p := ip(source.Addr(), destination.Addr())
	p.TCP = &TCP{Source: source.Port(), Destination: destination.Port(), Flags: flags, Window: Window}
	p.Payload = octets(payload)
	return p
}

// NewICMP returns an ICMP message, or an ICMPv6 one between IPv6 addresses.
func NewICMP(source, destination netip.Addr, icmpType, code uint8, rest uint32, payload []byte) Packet {
	p := ip(source, destination)
	p.ICMP = &ICMP{Type: icmpType, Code: code, Rest: rest}
	p.Payload = payload
	return p
}

// NewEcho returns an ICMP echo request.
func NewEcho(source, destination netip.Addr, identifier, sequence uint16) Packet {
	icmpType := EchoRequest
	if source.Is6() {
		icmpType = EchoRequest6
	}
	return NewICMP(source, destination, icmpType, 0, uint32(identifier)<<16|uint32(sequence), []byte("realmgate echo"))
}

// NewEchoReply returns the answer to NewEcho with the same arguments swapped.
func NewEchoReply(source, destination netip.Addr, identifier, sequence uint16) Packet {
	p := NewEcho(source, destination, identifier, sequence)
	p.ICMP.Type = EchoReply
	if source.Is6() {
		p.ICMP.Type = EchoReply6
	}
	return p
}

// NewICMPError returns an ICMP error from a machine at source about the packet
// original, as original looked there. keep is how many octets of original's IP
// payload to quote: at least 8 (RFC 792); -1 means all of it.
func NewICMPError(source, destination netip.Addr, icmpType, code uint8, rest uint32, original Packet, keep int) Packet {
	quoted := original.Network()
	header := 40
	if original.IPv4 != nil {
		header = 20 + len(padded(original.IPv4.Options))
	}
	if keep >= 0 && header+keep < len(quoted) {
		quoted = quoted[:header+keep]
	}
	p := NewICMP(source, destination, icmpType, code, rest, quoted)
	if p.IPv4 != nil {
		p.IPv4.DF = false
	}
	return p
}

// NewIP returns an IPv4 packet of any protocol, with what is behind the header as its payload.
func NewIP(source, destination netip.Addr, protocol model.Protocol, payload []byte) Packet {
	p := ip(source, destination)
	p.IPv4.Protocol, p.Payload = protocol, payload
	return p
}

// NewCovered returns a packet of UDP-Lite (RFC 3828), with ports in it, whose checksum covers
// so many octets: 0 for all.
func NewCovered(source, destination netip.AddrPort, coverage uint16, payload []byte) Packet {
	b := binary.BigEndian.AppendUint16(nil, source.Port())
	b = binary.BigEndian.AppendUint16(b, destination.Port())
	b = binary.BigEndian.AppendUint16(b, coverage)
	b = append(append(b, 0, 0), payload...)
	covered := b
	if coverage > 0 {
		covered = b[:coverage]
	}
	pseudo := pseudoSum(source.Addr(), destination.Addr(), model.UDPLite, len(b))
	binary.BigEndian.PutUint16(b[6:], checksumField(ChecksumValid, 0, pseudo, covered, true))
	return NewIP(source.Addr(), destination.Addr(), model.UDPLite, b)
}

// NewDCCP returns a packet of DCCP (RFC 4340 section 5.1), a request whose checksum covers so
// many words of 4 octets behind its header, and no less than that.
func NewDCCP(source, destination netip.AddrPort, words uint8, payload []byte) Packet {
	b := binary.BigEndian.AppendUint16(nil, source.Port())
	b = binary.BigEndian.AppendUint16(b, destination.Port())
	b = append(b, 5, words+1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0)
	covered := len(b) + 4*int(words)
	b = append(b, payload...)
	pseudo := pseudoSum(source.Addr(), destination.Addr(), model.DCCP, len(b))
	binary.BigEndian.PutUint16(b[6:], checksumField(ChecksumValid, 0, pseudo, b[:covered], false))
	return NewIP(source.Addr(), destination.Addr(), model.DCCP, b)
}

// NewARPRequest returns a broadcast that asks who has target.
func NewARPRequest(sender MAC, senderIP, target netip.Addr) Packet {
	return Packet{
		Ethernet: Ethernet{Source: sender, Destination: BroadcastMAC},
		ARP:      &ARP{Operation: 1, SenderMAC: sender, SenderIP: senderIP, TargetIP: target},
	}
}

// NewARPReply returns the answer that tells target where sender is.
func NewARPReply(sender MAC, senderIP netip.Addr, target MAC, targetIP netip.Addr) Packet {
	return Packet{
		Ethernet: Ethernet{Source: sender, Destination: target},
		ARP:      &ARP{Operation: 2, SenderMAC: sender, SenderIP: senderIP, TargetMAC: target, TargetIP: targetIP},
	}
}

// Between returns p with the given Ethernet addresses.
func (p Packet) Between(source, destination MAC) Packet {
	p.Ethernet.Source, p.Ethernet.Destination = source, destination
	return p
}

// Tagged returns p with one VLAN tag more, outside those it has.
func (p Packet) Tagged(identifier uint16) Packet {
	p.VLANs = append([]VLAN{{TPID: TypeVLAN, TCI: identifier}}, p.VLANs...)
	return p
}

// Change returns a copy of p that f has changed; p stays as it is.
func (p Packet) Change(f func(*Packet)) Packet {
	p = p.Clone()
	f(&p)
	return p
}

// Tuple returns the 5-tuple in p's headers, zero where p has no such layer.
// For an ICMP query the identifier is the asking side's port (model.Tuple).
func (p Packet) Tuple() model.Tuple {
	var t model.Tuple
	var source, destination netip.Addr
	switch {
	case p.IPv4 != nil:
		source, destination, t.Protocol = p.IPv4.Source, p.IPv4.Destination, p.protocol(p.IPv4.Protocol)
	case p.IPv6 != nil:
		source, destination, t.Protocol = p.IPv6.Source, p.IPv6.Destination, p.protocol(p.IPv6.NextHeader)
	}
	var sourcePort, destinationPort uint16
	switch {
	case p.UDP != nil:
		sourcePort, destinationPort = p.UDP.Source, p.UDP.Destination
	case p.TCP != nil:
		sourcePort, destinationPort = p.TCP.Source, p.TCP.Destination
	case p.ICMP != nil && (p.ICMP.Type == EchoRequest || p.ICMP.Type == EchoRequest6):
		sourcePort = p.ICMP.Identifier()
	case p.ICMP != nil && (p.ICMP.Type == EchoReply || p.ICMP.Type == EchoReply6):
		destinationPort = p.ICMP.Identifier()
	}
	t.Source = netip.AddrPortFrom(source, sourcePort)
	t.Destination = netip.AddrPortFrom(destination, destinationPort)
	return t
}

// ip is a packet as hosts send them: in IPv4 it is not to be divided.
func ip(source, destination netip.Addr) Packet {
	if source.Is6() {
		return Packet{IPv6: &IPv6{Source: source, Destination: destination, HopLimit: TTL}}
	}
	return Packet{IPv4: &IPv4{Source: source, Destination: destination, TTL: TTL, DF: true}}
}

// octets keeps nil for "nothing", as Parse does.
func octets(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}
