package config

import (
	"fmt"
	"strconv"

	"github.com/realmgate/realmgate/internal/schema"
)

// MSS is the most that a SYN may say its sender takes (RFC 9293 section 3.7.1): octets, or one of the
// words.
type MSS uint16

// The words.
const (
	MSSAuto MSS = 0      // what fits the links of both sides
	MSSOff  MSS = 65_535 // whatever it says
)

// A host must take 576 octets (RFC 9293); jumbo frames are 9,000.
const (
	leastMSS = 536
	mostMSS  = 8960
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

func mss() schema.Kind[MSS] {
	n := schema.Number(leastMSS, mostMSS)
	allowed := fmt.Sprintf("auto, off or %s", n.Allowed)
	return schema.Kind[MSS]{
		Name: "word or number", Allowed: allowed, Want: allowed, Tags: []string{"!!str", "!!int"},
		Show: MSS.String,
		Parse: func(text string) (MSS, error) {
			for _, word := range []MSS{MSSAuto, MSSOff} {
				if text == word.String() {
					return word, nil
				}
			}
			octets, err := n.Parse(text)
			return MSS(octets), err //nolint:gosec // n.parse keeps it within its bounds
		},
	}
}
