package events

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/events/event"
)

// lined are events as the lines of a sink.
func lined(t rapid.TB, lost uint64, events ...event.Event) (lines [][]byte) {
	t.Helper()
	for i, e := range events {
		r := record{time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC), "gw", uint64(i + 1), e}
		line, err := r.line(lost)
		if err != nil {
			t.Fatal(err)
		}
		lines, lost = append(lines, line), 0
	}
	return lines
}

func banned(address, reason string) event.Ban {
	return event.Ban{Prefixes: []netip.Prefix{netip.MustParsePrefix(address + "/32")}, Count: 1, Reason: reason}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	ban, unban := banned("198.51.100.7", "jail ssh: 5 failures"), event.Unban{Count: 0, Reason: "expired"}
	for want, c := range map[string]struct {
		lost   uint64
		events []event.Event
	}{
		"realmgate gw: ban\n" +
			"2026-03-01T12:00:00.000Z ban prefixes=198.51.100.7/32 count=1 reason=\"jail ssh: 5 failures\"\n": {0, []event.Event{ban}},
		"realmgate gw: 2 ban, 1 unban\n" +
			"3 events: 2 ban, 1 unban; 9 more were lost\n\n" +
			"2026-03-01T12:00:00.000Z unban prefixes= count=0 reason=expired\n" +
			"2026-03-01T12:00:01.000Z ban prefixes=198.51.100.7/32 count=1 reason=\"jail ssh: 5 failures\"\n" +
			"2026-03-01T12:00:02.000Z ban prefixes=198.51.100.7/32 count=1 reason=\"jail ssh: 5 failures\"\n": {9, []event.Event{unban, ban, ban}},
	} {
		d := digestOf(lined(t, c.lost, c.events...))
		if got := d.subject + "\n" + d.text(4096); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// Whatever strangers have put into events: a digest is as long as it may be, printable, and says how many it leaves out.
func TestDigestIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reason := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[2J", "a\r\nBcc: x@example.org", strings.Repeat("x", 9000), "\u202e", "🙂"}))
		var events []event.Event
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			events = append(events, banned("198.51.100.7", reason.Draw(t, "reason")))
		}
		d := digestOf(lined(t, 0, events...))
		text := d.text(4096)
		if n := len(utf16.Encode([]rune(text))); n > 4096 || n == 0 {
			t.Fatalf("%d units", n)
		}
		for _, c := range d.subject + strings.ReplaceAll(text, "\n", "") {
			if !unicode.IsPrint(c) {
				t.Fatalf("%q in %q", c, text)
			}
		}
		shown, left := strings.Count(text, " ban prefixes="), 0
		if at := strings.LastIndex(text, "… and "); at >= 0 {
			_, _ = fmt.Sscanf(text[at:], "… and %d more", &left)
		}
		if shown+left != len(events) {
			t.Fatalf("%d are shown and %d left out, of %d:\n%s", shown, left, len(events), text)
		}
	})
}
