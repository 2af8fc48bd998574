package packets

import "fmt"

// String sums p up in a line, as "tcp 10.0.0.1:5 > 10.0.0.2:80 SYN, 0 octets", with what is inside a tunnel behind it.
func (p Packet) String() string {
	switch {
	case p.ARP != nil:
		return fmt.Sprintf("arp operation %d, %s (%s) > %s (%s)",
			p.ARP.Operation, p.ARP.SenderIP, p.ARP.SenderMAC, p.ARP.TargetIP, p.ARP.TargetMAC)
	case p.TCP != nil:
		return fmt.Sprintf("%s %s, %d octets", p.Tuple(), p.TCP.Flags, len(p.Payload))
	case p.ICMP != nil:
		return fmt.Sprintf("%s type %d code %d, %d octets", p.Tuple(), p.ICMP.Type, p.ICMP.Code, len(p.Payload))
	case p.IPv4 != nil && (p.IPv4.MF || p.IPv4.FragmentOffset != 0):
		return fmt.Sprintf("%s fragment at %d, %d octets", p.Tuple(), int(p.IPv4.FragmentOffset)*8, len(p.Payload))
	case p.IPv4 != nil || p.IPv6 != nil:
		return fmt.Sprintf("%s, %d octets%s", p.Tuple(), len(p.Payload), p.tunnelled())
	}
	return fmt.Sprintf("ethertype %#04x, %d octets", p.Ethernet.Type, len(p.Payload))
}
