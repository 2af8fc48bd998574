package nftest

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

var (
	directions = map[string]model.Direction{"in": model.In, "out": model.Out}
	protocols  = map[string]model.Protocol{"tcp": model.TCP, "udp": model.UDP, "icmp": model.ICMP, "gre": model.GRE}
)

// Packet is the first packet of a flow, of 100 bytes: "in tcp 203.0.113.7:40000 > 10.0.0.1:80". It panics on anything else, as a
// mistake in a test's table should.
func Packet(line string) nf.Packet {
	var direction, protocol, from, to string
	if _, err := fmt.Sscanf(line, "%s %s %s > %s", &direction, &protocol, &from, &to); err != nil || directions[direction] == 0 || protocols[protocol] == 0 {
		panic("no packet: " + line)
	}
	source, destination := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	return nf.Packet{
		Source: number(source.Addr()), SourcePort: bits.ReverseBytes16(source.Port()),
		Destination: number(destination.Addr()), DestinationPort: bits.ReverseBytes16(destination.Port()),
		Protocol: uint8(protocols[protocol]), Direction: uint8(directions[direction]), Opens: 1, Length: 100, Segments: 1,
	}
}

// number is an address as packets have it.
func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}

// Payload is whether the first bytes of the flow's payload have come (enum nf_payload).
type Payload uint8

// Fragment is which part of a datagram a packet is (enum nf_fragment).
type Fragment uint8
