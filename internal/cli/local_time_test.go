package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
)

// The hour that the end of summer time brings twice is refused with how to write either, as is the one that its beginning leaves
// out. What has an offset, and every other hour, is taken.
func TestLocalTime(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Helsinki")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{zone: zone}
	for text, want := range map[string]string{
		"2026-10-25 02:59:59.999":   "2026-10-24T23:59:59.999Z",
		"2026-10-25 03:00:00":       "clocks showed that twice, as they were set back: write 2026-10-25T03:00:00+03:00 or 2026-10-25T03:00:00+02:00",
		"2026-10-25T03:59:59.25":    "clocks showed that twice, as they were set back: write 2026-10-25T03:59:59.25+03:00 or 2026-10-25T03:59:59.25+02:00",
		"2026-10-25 03:30":          "clocks showed that twice, as they were set back: write 2026-10-25T03:30:00+03:00 or 2026-10-25T03:30:00+02:00",
		"2026-10-25 04:00:00":       "2026-10-25T02:00:00Z",
		"2026-10-25T03:30:00+03:00": "2026-10-25T00:30:00Z",
		"2026-10-25T03:30:00+02:00": "2026-10-25T01:30:00Z",
		"2026-03-29 03:30:00":       "clocks never showed that, as they were set forward: write a time with its offset, as 2026-03-29T04:30:00+03:00",
		"2026-03-29 04:00:00":       "2026-03-29T01:00:00Z",
		"2026-11-30 12:00:05":       "2026-11-30T10:00:05Z",
	} {
		at, err := a.parseTime(text)
		got := at.UTC().Format(time.RFC3339Nano)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 5*3600)} {
		if _, err := (&app{zone: zone}).parseTime("2026-10-25 03:30:00"); err != nil {
			t.Errorf("%s: %v", zone, err)
		}
	}
}

// All of the second that is named is asked for, or of the minute; and of a log that begins within, that is said.
func TestTraceOfASecond(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"2026-11-30T12:00:05Z":    "at=2026-11-30T12%3A00%3A05Z&until=2026-11-30T12%3A00%3A06Z",
		"2026-11-30 12:00:05.000": "at=2026-11-30T12%3A00%3A05Z&until=2026-11-30T12%3A00%3A05.001Z",
		"2026-11-30 12:00":        "at=2026-11-30T12%3A00%3A00Z&until=2026-11-30T12%3A01%3A00Z",
	} {
		d := &fakeDaemon{traced: client.Traced{Begins: time.Date(2026, 11, 30, 12, 0, 5, 0, time.UTC)}}
		r := execute(t.Context(), "trace", "--address", "192.0.2.1", "--port", "1", "--at", at, "--socket", d.serve(t))
		if got := d.asked(t); r.code != exitOK || got != "/v1/trace?address=192.0.2.1&"+strings.Replace(want, "&", "&port=1&", 1) {
			t.Errorf("%s: exit %d, asked for %s", at, r.code, got)
		}
		says := map[bool]string{true: "The log begins within that time.\n", false: "Nobody had it then.\n"}[at == "2026-11-30 12:00"]
		if r.stdout != says {
			t.Errorf("%s: it says %q, want %q", at, r.stdout, says)
		}
	}
}
