package model

import "strconv"

// MSS is the most that a SYN may say its sender takes (RFC 9293 section 3.7.1): octets, or one of the
// words.
type MSS uint16

// The words.
const (
	MSSAuto MSS = mssAuto // what fits the links of both sides
	MSSOff  MSS = mssOff  // whatever it says
)

// String returns the word or number used in the file.
func (m MSS) String() string {
	switch m {
	case MSSAuto:
		return "auto"
	case MSSOff:
		return "off"
	}
	return strconv.Itoa(int(m))
}
