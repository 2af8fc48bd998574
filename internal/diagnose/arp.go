package diagnose

import (
	"encoding/binary"
	"net"
	"net/netip"
)

const (
	arpType  = 0x0806
	arpStart = 14                 // behind the Ethernet header
	arpSize  = arpStart + 8 + 4*5 // two link and two IPv4 addresses
	askARP   = 1
)

// probe is an ARP question for an address by nobody, so that no cache learns from it
// (RFC 5227 §2.1.1).
func probe(from net.HardwareAddr, address netip.Addr) []byte {
	frame := make([]byte, 60) // the least that Ethernet has, without its check sequence
	copy(frame, net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	copy(frame[6:], from)
	binary.BigEndian.PutUint16(frame[12:], arpType)
	copy(frame[arpStart:], []byte{0, 1, 8, 0, 6, 4, 0, askARP})
	copy(frame[arpStart+8:], from)
	target := address.As4()
	copy(frame[arpStart+24:], target[:])
	return frame
}

// owner reads who says in an ARP question or answer to have an IPv4 address.
func owner(frame []byte) (address netip.Addr, mac net.HardwareAddr, ok bool) {
	if len(frame) < arpSize || binary.BigEndian.Uint16(frame[12:]) != arpType ||
		[6]byte(frame[arpStart:]) != [6]byte{0, 1, 8, 0, 6, 4} {
		return netip.Addr{}, nil, false
	}
	address = netip.AddrFrom4([4]byte(frame[arpStart+14:]))
	mac = net.HardwareAddr(append([]byte{}, frame[arpStart+8:arpStart+14]...))
	return address, mac, !address.IsUnspecified()
}
