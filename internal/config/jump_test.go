package config

import (
	"fmt"
	"strings"
	"testing"
)

// Jumps that fork and meet again and again make ever more ways, which are not all walked.
func TestJumpsThatMeetAgain(t *testing.T) {
	var text strings.Builder
	text.WriteString(above + "chains:\n")
	const chains = 60
	for i := range chains {
		fmt.Fprintf(&text, "  - name: c%d\n    functions:\n", i)
		for j := range 2 {
			if i > 0 {
				fmt.Fprintf(&text, "      - {use: jump, name: j%d, chain: c%d}\n", j, i-1)
			} else {
				fmt.Fprintf(&text, "      - {use: filter, name: f%d}\n", j)
			}
		}
	}
	if _, err := Parse("it.yaml", []byte(text.String())); err != nil {
		t.Error(err)
	}
}
