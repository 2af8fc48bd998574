package model

import (
	"fmt"
	"net/netip"
)

// Tuple is a 5-tuple as one side of the gateway sees it. For ICMP queries the
// identifier stands as the port of the side that asked, and the other is 0.
type Tuple struct {
	Protocol    Protocol       `json:"protocol"`
	Source      netip.AddrPort `json:"source"`
	Destination netip.AddrPort `json:"destination"`
}

// String writes the tuple as "tcp 192.0.2.1:40000 > 198.18.0.33:80".
func (t Tuple) String() string {
	return fmt.Sprintf("%s %s > %s", t.Protocol, t.Source, t.Destination)
}
