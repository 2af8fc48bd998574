package nameserver

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// subnetBits is the longest prefix of a client that is believed and answered
// for: less than a /24 would tell more of people than is needed (RFC 7871 §11.1).
const subnetBits = 24

// subnetOption is the EDNS client subnet option of a question (RFC 7871 §6). It
// is kept as it came, since the reply repeats it.
type subnetOption struct {
	present, malformed bool
	wire               [4 + 16]byte // family, source and scope prefix length, address
	length             int          // octets used in wire
}

// read takes the option's data in. An option that is not what RFC 7871 §6 says
// is remembered as malformed; that matters only from those who are believed.
func (s *subnetOption) read(data []byte) {
	if s.present || len(data) < 4 || len(data) > len(s.wire) {
		s.present, s.malformed = true, true
		return
	}
	s.present = true
	s.length = copy(s.wire[:], data)
	prefix, ok := s.prefix()
	// The address has the octets its prefix needs and no more, bits after the
	// prefix are 0, and a question has no scope.
	s.malformed = !ok || data[3] != 0 || len(data) != 4+(int(data[2])+7)/8 || prefix != prefix.Masked()
}

// prefix is the client's prefix as the asker gave it.
func (s *subnetOption) prefix() (netip.Prefix, bool) {
	var address netip.Addr
	switch binary.BigEndian.Uint16(s.wire[:]) { // address families of IANA
	case 1:
		address = netip.AddrFrom4([4]byte(s.wire[4:]))
	case 2:
		address = netip.AddrFrom16([16]byte(s.wire[4:]))
	default:
		return netip.Prefix{}, false
	}
	prefix := netip.PrefixFrom(address, int(s.wire[2]))
	return prefix, prefix.IsValid()
}

// client is the prefix that an answer is for, and its scope. Pool addresses are
// IPv4, so of a client's IPv6 network nothing follows.
func (s *subnetOption) client() (prefix netip.Prefix, scope uint8) {
	given, ok := s.prefix()
	if !ok || !given.Addr().Is4() || given.Bits() == 0 {
		return netip.Prefix{}, 0
	}
	bits := min(given.Bits(), subnetBits)
	return netip.PrefixFrom(given.Addr(), bits).Masked(), uint8(bits)
}

// appendOption writes the option of the reply: the same but for the scope.
func (s *subnetOption) appendOption(buf []byte, scope uint8) []byte {
	buf = binary.BigEndian.AppendUint16(buf, dns.EDNS0SUBNET)
	buf = binary.BigEndian.AppendUint16(buf, uint16(s.length))
	start := len(buf)
	buf = append(buf, s.wire[:s.length]...)
	buf[start+3] = scope
	return buf
}

// believes reports whether a client subnet from this asker counts. From all
// others the option is one that we do not know (RFC 7871 §7.2.1).
func (s *publicSettings) believes(asker netip.Addr) bool {
	return slices.ContainsFunc(s.clientSubnet, func(prefix netip.Prefix) bool { return prefix.Contains(asker) })
}
