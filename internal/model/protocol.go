package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Protocol is an IPv4 protocol number. The zero value means any protocol.
type Protocol uint8

// The protocols Realmgate translates.
const (
	AnyProtocol Protocol = 0
	ICMP        Protocol = 1
	TCP         Protocol = 6
	UDP         Protocol = 17
)

// Those that it translates by address alone (bpf/packet/basic.h).
const (
	IPIP    Protocol = 4
	DCCP    Protocol = 33
	SixIn4  Protocol = 41
	GRE     Protocol = 47
	ESP     Protocol = 50
	SCTP    Protocol = 132
	UDPLite Protocol = 136
)

// otherProtocol stands before the number of a protocol that has no name here.
const otherProtocol = "protocol-"

var protocolNames = map[Protocol]string{
	AnyProtocol: "any", ICMP: "icmp", TCP: "tcp", UDP: "udp",
	IPIP: "ipip", DCCP: "dccp", SixIn4: "6in4", GRE: "gre", ESP: "esp", SCTP: "sctp", UDPLite: "udplite",
}

// HasPorts tells whether flows of the protocol are told apart by ports.
func (p Protocol) HasPorts() bool { return p == TCP || p == UDP }

// ByAddress tells whether the protocol is translated by address alone.
func (p Protocol) ByAddress() bool {
	_, known := protocolNames[p]
	return known && !p.HasPorts() && p != ICMP && p != AnyProtocol
}

// String returns the lower-case name, or the number for other protocols.
func (p Protocol) String() string {
	switch p { // of a million sessions nearly all
	case TCP:
		return "tcp"
	case UDP:
		return "udp"
	}
	if name, ok := protocolNames[p]; ok {
		return name
	}
	return fmt.Sprintf("%s%d", otherProtocol, uint8(p))
}

// ParseProtocol reads a protocol's name, in any case, or its number as IANA has it.
func ParseProtocol(s string) (Protocol, error) {
	for p, name := range protocolNames {
		if strings.EqualFold(s, name) || p != AnyProtocol && s == strconv.Itoa(int(p)) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown protocol %q: use tcp, udp, icmp, ipip, dccp, 6in4, gre, esp, sctp, udplite or any", s)
}

// MarshalText writes the protocol's name.
func (p Protocol) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote, also the number of another protocol.
func (p *Protocol) UnmarshalText(text []byte) error {
	if digits, other := strings.CutPrefix(string(text), otherProtocol); other {
		number, err := strconv.ParseUint(digits, 10, 8)
		if err != nil {
			return fmt.Errorf("read the number of protocol %q: %w", text, err)
		}
		*p = Protocol(number)
		return nil
	}
	parsed, err := ParseProtocol(string(text))
	*p = parsed
	return err
}
