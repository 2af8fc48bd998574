package connlimit

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// A table has places for as many sources as it says.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for entries, want := range map[int]uint32{1: 1, 8: 1, 9: 2, 1024: 128, 1025: 256, 1032: 256} {
		if got := (ConnLimit{Entries: entries}).buckets(); got != want {
			t.Errorf("%d entries: %d buckets, want %d", entries, got, want)
		}
	}
}

// What a file may say, and must.
func TestSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ConnLimit{
		"{connections: 20}":                            {20, 5 * time.Minute, 4096},
		"{connections: 64, idle: 90s, entries: 65536}": {64, 90 * time.Second, 65536},
		"{}":                           {},
		"{connections: 65}":            {},
		"{connections: 0}":             {},
		"{connections: 1, idle: 10ms}": {},
	} {
		settings, err := nftest.Read(t, Kind, text)
		got := settings.Function("", nil)
		switch {
		case (err != nil) != (want == ConnLimit{}):
			t.Errorf("%s: %v", text, err)
		case err == nil && got != nf.Function(want):
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
