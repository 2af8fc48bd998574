package packets

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// MAC is an Ethernet address. Unlike net.HardwareAddr it can be compared.
type MAC [6]byte

// String returns the address as 02:00:00:00:00:01.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// The addresses of the machines around a gateway under test. All but the last
// are locally administered (IEEE 802 clause 8.4).
var (
	GatewayPublicMAC  = MAC{0x02, 0, 0, 0, 0, 0x01}
	GatewayPrivateMAC = MAC{0x02, 0, 0, 0, 0, 0x02}
	RouterMAC         = MAC{0x02, 0, 0, 0, 0x01, 0xfe}
	ClientMAC         = MAC{0x02, 0, 0, 0, 0x01, 0x01}
	HostMAC           = MAC{0x02, 0, 0, 0, 0x02, 0x01}
	OtherHostMAC      = MAC{0x02, 0, 0, 0, 0x02, 0x02}
	BroadcastMAC      = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

// EtherTypes that Parse knows (IEEE 802 numbers).
const (
	TypeIPv4 uint16 = 0x0800
	TypeARP  uint16 = 0x0806
	TypeVLAN uint16 = 0x8100
	TypeQinQ uint16 = 0x88a8
	TypeIPv6 uint16 = 0x86dd
)

// ICMPv6 is the IPv6 next header of ICMP (RFC 4443). The gateway translates
// IPv4 only, so it is not one of model's protocols.
const ICMPv6 model.Protocol = 58

// Packet is one frame, layer by layer. Layers that are nil are not there.
type Packet struct {
	Ethernet Ethernet
	VLANs    []VLAN // outermost first
	ARP      *ARP
	IPv4     *IPv4
	IPv6     *IPv6
	UDP      *UDP
	TCP      *TCP
	ICMP     *ICMP  // also ICMPv6, under an IPv6 layer
	Payload  []byte // what follows the innermost layer
	Trailer  []byte // Ethernet padding after the end of the IP packet
}

// Ethernet is the frame's header (IEEE 802.3 clause 3).
type Ethernet struct {
	Destination, Source MAC
	Type                uint16 // of what follows the VLAN tags; 0: by the next layer
}

// VLAN is one tag (IEEE 802.1Q clause 9).
type VLAN struct {
	TPID uint16 // 0: TypeVLAN
	TCI  uint16 // priority, drop eligibility, identifier
}

// ARP is a request (Operation 1) or reply (2) for IPv4 over Ethernet (RFC 826).
type ARP struct {
	Operation            uint16
	SenderMAC, TargetMAC MAC
	SenderIP, TargetIP   netip.Addr
}

// IPv4 is the header of RFC 791 §3.1.
type IPv4 struct {
	Source, Destination netip.Addr
	Protocol            model.Protocol // 0: by the next layer
	TTL, TOS            uint8
	ID                  uint16
	Reserved, DF, MF    bool
	FragmentOffset      uint16 // in units of 8 octets, 0..8191
	Options             []byte // at most 40; padded with zeros to a multiple of 4
	Checksum            Checksum
	ChecksumValue       uint16 // see Checksum
	HeaderLength        uint8  // in units of 4 octets; 0: the right one
	TotalLength         uint16 // octets; 0: the right one
}

// IPv6 is the header of RFC 8200 §3. Extension headers are payload.
type IPv6 struct {
	Source, Destination netip.Addr
	NextHeader          model.Protocol // 0: by the next layer
	HopLimit            uint8
	TrafficClass        uint8
	FlowLabel           uint32 // 0..0xfffff
	PayloadLength       uint16 // octets; 0: the right one
}

// UDP is the header of RFC 768.
type UDP struct {
	Source, Destination uint16
	Checksum            Checksum // ChecksumZero: the sender did not compute one
	ChecksumValue       uint16
	Length              uint16 // octets; 0: the right one
}

// TCP is the header of RFC 9293 §3.1.
type TCP struct {
	Source, Destination   uint16
	Sequence, Acknowledge uint32
	Flags                 Flags
	Window, Urgent        uint16
	Options               []byte // at most 40; padded with zeros to a multiple of 4
	Checksum              Checksum
	ChecksumValue         uint16
	DataOffset            uint8 // in units of 4 octets; 0: the right one
}

// ICMP is the header of RFC 792 or RFC 4443. Rest is its second word: for
// queries identifier<<16 | sequence, for "fragmentation needed" the next-hop
// MTU (RFC 1191 §4). An error's quoted packet is the Payload.
type ICMP struct {
	Type, Code    uint8
	Rest          uint32
	Checksum      Checksum
	ChecksumValue uint16
}

// Identifier returns the identifier of a query.
func (c ICMP) Identifier() uint16 { return uint16(c.Rest >> 16) }

// Sequence returns the sequence number of a query.
func (c ICMP) Sequence() uint16 { return uint16(c.Rest) }

// Clone returns a copy that shares nothing with p.
func (p Packet) Clone() Packet {
	p.VLANs = slices.Clone(p.VLANs)
	p.ARP = clone(p.ARP)
	p.IPv4 = clone(p.IPv4)
	p.IPv6 = clone(p.IPv6)
	p.UDP = clone(p.UDP)
	p.TCP = clone(p.TCP)
	p.ICMP = clone(p.ICMP)
	if p.IPv4 != nil {
		p.IPv4.Options = slices.Clone(p.IPv4.Options)
	}
	if p.TCP != nil {
		p.TCP.Options = slices.Clone(p.TCP.Options)
	}
	p.Payload = slices.Clone(p.Payload)
	p.Trailer = slices.Clone(p.Trailer)
	return p
}

func clone[T any](layer *T) *T {
	if layer == nil {
		return nil
	}
	copied := *layer
	return &copied
}
