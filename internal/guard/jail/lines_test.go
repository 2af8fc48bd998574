package jail

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// However the log is cut into chunks, its lines are the same.
func TestLinesAreThoseOfTheWholeText(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "\n", "\x00", "\xff", "\r", strings.Repeat("b", LongestLine/2), strings.Repeat("c", LongestLine-1), "\nd"})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, "text"), ""))
		var want []string
		long := uint64(0)
		whole := bytes.Split(text, []byte("\n"))
		for i, line := range whole {
			switch {
			case len(line) > LongestLine:
				long++
			case i < len(whole)-1: // the last has no end
				want = append(want, string(line))
			}
		}
		var skipped atomic.Uint64
		l := lines{skipped: &skipped}
		var got []string
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			l.feed(rest[:n], func(line []byte) { got = append(got, string(line)) })
			rest = rest[n:]
			if cap(l.part) > 2*LongestLine {
				t.Fatalf("%d bytes kept", cap(l.part))
			}
		}
		if !slices.Equal(got, want) || skipped.Load() != long {
			t.Fatalf("%d lines, %d skipped; want %d and %d", len(got), skipped.Load(), len(want), long)
		}
	})
}

func TestTheRestOfALineIsNoLine(t *testing.T) {
	t.Parallel()
	var skipped atomic.Uint64
	l := lines{skipped: &skipped}
	var got []string
	l.skipFirst()
	for _, chunk := range []string{"rest ", "of it\nli", "ne\nbegin"} {
		l.feed([]byte(chunk), func(line []byte) { got = append(got, string(line)) })
	}
	l.restart()
	l.feed([]byte("other\n"), func(line []byte) { got = append(got, string(line)) })
	if want := []string{"line", "other"}; !slices.Equal(got, want) || skipped.Load() != 0 {
		t.Errorf("%q, %d skipped; want %q", got, skipped.Load(), want)
	}
}
