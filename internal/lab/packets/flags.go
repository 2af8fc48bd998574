package packets

import "strings"

// Flags are the control bits of a TCP header (RFC 9293 §3.1), CWR and ECE
// included (RFC 3168 §6.1).
type Flags uint8

// The control bits.
const (
	FIN Flags = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

var flagNames = [...]string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}

// String returns the names of the set bits, as "SYN|ACK", or "none".
func (f Flags) String() string {
	var set []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(set, "|")
}
