package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// shownTo is a progress with a clock that the test moves.
func shownTo(out *bytes.Buffer, width int) (p *progress, pass func(time.Duration)) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p = &progress{out: out, width: width, now: func() time.Time { return now }, begun: now, ended: make(chan struct{})}
	return p, func(d time.Duration) { now = now.Add(d) }
}

func TestProgressOnTerminal(t *testing.T) {
	var out bytes.Buffer
	p, pass := shownTo(&out, 60)
	p.show(bench.Progress{Total: 24, What: "bring up realmgate"})
	pass(time.Minute)
	p.show(bench.Progress{Total: 24, What: "round 0 of 5, null"})
	pass(30 * time.Second)
	p.show(bench.Progress{Done: 6, Total: 24, What: "round 1 of 5, iptables"})
	p.width = 120
	p.show(bench.Progress{Done: 6, Total: 24, What: "round 1 of 5, iptables"})
	pass(2 * time.Second)
	p.redraw() // as the clock's goroutine does
	p.end()
	lines := strings.Split(out.String(), "\r")
	want := []string{
		"", "[....................] 0/24 bring up realmgate, 0.0s\x1b[K",
		// Bringing up does not count for what is left.
		"[....................] 0/24 round 0 of 5, null, 0.0s\x1b[K",
		"[#####...............] 6/24 round 1 of 5, iptables, 30s, ab\x1b[K",
		"[#####...............] 6/24 round 1 of 5, iptables, 30s, about 1m30s to go\x1b[K",
		"[#####...............] 6/24 round 1 of 5, iptables, 32s, about 1m36s to go\x1b[K",
		"\x1b[K",
	}
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("%q, want %q", lines[i], want[i])
		}
	}
	if n := utf8.RuneCountInString(strings.TrimSuffix(lines[3], "\x1b[K")); n >= 60 {
		t.Errorf("%d columns would break the line", n)
	}
}

func TestProgressInLog(t *testing.T) {
	var out bytes.Buffer
	p, pass := shownTo(&out, 0)
	for i := range 30 {
		p.show(bench.Progress{Done: i, Total: 30, What: "at work"})
		pass(time.Second)
	}
	p.end()
	want := "[0/30] at work\n[10/30] at work, about 20s to go\n[20/30] at work, about 10s to go\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestNoTerminal(t *testing.T) {
	if n := terminalWidth(&bytes.Buffer{}); n != 0 {
		t.Errorf("a buffer is a terminal of %d columns", n)
	}
}
