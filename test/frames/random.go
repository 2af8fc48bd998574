package frames

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Random returns a well-formed packet of any kind: mostly UDP, TCP and ICMP
// over IPv4, between addresses of pool, now and then a fragment, a tag, options,
// ARP, IPv6 or an odd checksum. The same r gives the same packets.
func Random(r *rand.Rand, pool []netip.Addr) packets.Packet {
	source, destination := pick(r, pool), pick(r, pool)
	from := netip.AddrPortFrom(source, uint16(r.Uint32()))
	to := netip.AddrPortFrom(destination, uint16(r.Uint32()))
	data := randomBytes(r, r.IntN(64))
	var p packets.Packet
	switch r.IntN(12) {
	case 0, 1, 2:
		p = packets.NewUDP(from, to, string(data))
	case 3, 4, 5, 6:
		p = packets.NewTCP(from, to, packets.Flags(r.Uint32()), string(data))
		p.TCP.Sequence, p.TCP.Acknowledge = r.Uint32(), r.Uint32()
		p.TCP.Options = randomBytes(r, 4*r.IntN(11))
	case 7:
		p = packets.NewEcho(source, destination, from.Port(), to.Port())
	case 8:
		p = packets.NewEchoReply(source, destination, from.Port(), to.Port())
	case 9:
		errors := []uint8{packets.DestinationUnreachable, packets.TimeExceeded, packets.ParameterProblem}
		quoted := packets.NewUDP(to, from, string(data))
		p = packets.NewICMPError(source, destination, pick(r, errors), uint8(r.IntN(16)), r.Uint32(), quoted, r.IntN(40))
	case 10:
		p = packets.NewARPRequest(packets.ClientMAC, source, destination)
	case 11:
		p = packets.NewUDP(netip.AddrPortFrom(to6(source), from.Port()), netip.AddrPortFrom(to6(destination), to.Port()), string(data))
	}
	p = p.Between(packets.ClientMAC, packets.GatewayPublicMAC)
	if p.IPv4 != nil {
		randomIPv4(r, &p)
	}
	if r.IntN(50) == 0 {
		p = p.Tagged(uint16(r.Uint32()))
	}
	if r.IntN(8) == 0 {
		p.Trailer = randomBytes(r, r.IntN(20))
	}
	return p
}

func randomIPv4(r *rand.Rand, p *packets.Packet) {
	p.IPv4.TTL = uint8(r.Uint32())
	p.IPv4.ID = uint16(r.Uint32())
	p.IPv4.DF = r.IntN(2) == 0
	if r.IntN(6) == 0 {
		p.IPv4.Options = randomBytes(r, 4*r.IntN(11))
	}
	if r.IntN(10) == 0 {
		p.IPv4.Checksum = packets.ChecksumBad
	}
	odd := packets.Checksum(r.IntN(4))
	switch {
	case r.IntN(6) != 0:
	case p.UDP != nil:
		p.UDP.Checksum = odd
	case p.TCP != nil:
		p.TCP.Checksum = odd
	case p.ICMP != nil:
		p.ICMP.Checksum = odd
	}
	if r.IntN(20) == 0 {
		pieces := p.Fragments(8)
		*p = pick(r, pieces)
	}
}

// Mutate returns a copy of frame that is damaged in one to four ways: octets
// changed, cut or added, the lengths and offsets of its headers above all. The
// result may by chance be what it was.
func Mutate(r *rand.Rand, frame []byte) []byte {
	b := slices.Clone(frame)
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			return randomBytes(r, r.IntN(100))
		}
		switch r.IntN(6) {
		case 0:
			b[r.IntN(len(b))] = byte(r.Uint32())
		case 1:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 2:
			b = b[:r.IntN(len(b))]
		case 3:
			b = append(b, randomBytes(r, r.IntN(64))...)
		case 4: // version, header length, total length, fragment, protocol
			if at := 14 + r.IntN(10); at < len(b) {
				b[at] = byte(r.Uint32())
			}
		case 5: // an interesting number on an even offset
			if at := 2 * r.IntN(len(b)/2+1); at+2 <= len(b) {
				binary.BigEndian.PutUint16(b[at:], pick(r, []uint16{0, 1, 7, 8, 19, 20, 0x7fff, 0x8000, 0xffff}))
			}
		}
	}
	return b
}

func to6(a netip.Addr) netip.Addr {
	b := a.As16()
	copy(b[:], []byte{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0}) // RFC 3849
	return netip.AddrFrom16(b)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func randomBytes(r *rand.Rand, n int) []byte {
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
