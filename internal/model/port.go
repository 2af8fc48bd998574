package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Port is one way into a service: what the outside connects to, and where that goes on the host. There are three
// kinds: the zero value is everything; ICMP has no ports; TCP and UDP have both, 1 to 65535.
type Port struct {
	Protocol Protocol
	Port     uint16 // outside; 0 for ICMP and for everything
	To       uint16 // on the host; 0 for ICMP and for everything
}

// ParsePort reads one port: "tcp/80", "tcp/80:8080" (80 outside, 8080 on the host), "icmp" or "all".
func ParsePort(s string) (Port, error) {
	ports, err := ParsePorts(s)
	if err != nil {
		return Port{}, err
	}
	if len(ports) != 1 {
		return Port{}, fmt.Errorf("port %q is a range: write one port", s)
	}
	return ports[0], nil
}

// ParsePorts reads what ParsePort does, and ranges: "tcp/50000-50100", whose ports are the same on the host.
func ParsePorts(s string) ([]Port, error) {
	switch s {
	case "all":
		return []Port{{}}, nil
	case "icmp":
		return []Port{{Protocol: ICMP}}, nil
	}
	word, numbers, found := strings.Cut(s, "/")
	protocol, ok := map[string]Protocol{"tcp": TCP, "udp": UDP}[word]
	if !found || !ok {
		return nil, fmt.Errorf("port %q: write tcp/80, tcp/80:8080, udp/5000-5100, icmp or all", s)
	}
	if outside, host, both := strings.Cut(numbers, ":"); both {
		port, err := parseNumber(s, outside)
		if err != nil {
			return nil, err
		}
		to, err := parseNumber(s, host)
		if err != nil {
			return nil, err
		}
		return []Port{{protocol, port, to}}, nil
	}
	from, upTo, isRange := strings.Cut(numbers, "-")
	first, err := parseNumber(s, from)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return []Port{{protocol, first, first}}, nil
	}
	last, err := parseNumber(s, upTo)
	if err != nil {
		return nil, err
	}
	if last < first {
		return nil, fmt.Errorf("port %q: the range ends before it begins", s)
	}
	ports := make([]Port, 0, int(last-first)+1)
	for n := int(first); n <= int(last); n++ {
		ports = append(ports, Port{protocol, uint16(n), uint16(n)})
	}
	return ports, nil
}

// parseNumber reads a port number of the entry whole: digits alone, as strconv takes a sign, too.
func parseNumber(whole, s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '+' {
		return 0, fmt.Errorf("port %q: %q is not a number from 1 to 65535", whole, s)
	}
	return uint16(n), nil
}

// Key is what the outside connects to: of one address it is one service's.
func (p Port) Key() uint32 { return uint32(p.Protocol)<<16 | uint32(p.Port) }

// Overlaps reports whether some packet from outside fits both: everything fits with anything.
func (p Port) Overlaps(o Port) bool {
	return p.Protocol == AnyProtocol || o.Protocol == AnyProtocol || p.Key() == o.Key()
}

// Valid reports whether the port is one of the three kinds.
func (p Port) Valid() bool {
	switch p.Protocol {
	case AnyProtocol, ICMP:
		return p.Port == 0 && p.To == 0
	case TCP, UDP:
		return p.Port != 0 && p.To != 0
	}
	return false
}

// String writes what ParsePort reads.
func (p Port) String() string {
	switch {
	case p == Port{}:
		return "all"
	case p.Port == 0:
		return p.Protocol.String()
	case p.Port == p.To:
		return fmt.Sprintf("%s/%d", p.Protocol, p.Port)
	}
	return fmt.Sprintf("%s/%d:%d", p.Protocol, p.Port, p.To)
}

// MarshalText writes what String does.
func (p Port) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (p *Port) UnmarshalText(text []byte) error {
	parsed, err := ParsePort(string(text))
	*p = parsed
	return err
}
