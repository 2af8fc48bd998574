package frames

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Embedded returns the packet that an ICMP error quotes (RFC 5508 §4).
func Embedded(p packets.Packet) (packets.Packet, error) {
	switch {
	case p.ICMP == nil:
		return packets.Packet{}, fmt.Errorf("no ICMP in the packet: %w", packets.ErrMalformed)
	case p.IPv6 != nil:
		return packets.ParseNetwork(packets.TypeIPv6, p.Payload, true)
	}
	return packets.ParseNetwork(packets.TypeIPv4, p.Payload, true)
}
