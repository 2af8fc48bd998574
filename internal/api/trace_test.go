package api

import (
	"testing"
	"time"
)

// What a time names lasts as long as its last digit says.
func TestTracedTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"2026-11-30T12:00:05Z": time.Second, "2026-11-30T12:00:05+02:00": time.Second, "2026-11-30T12:00:05-02:00": time.Second, "2026-11-30 12:00:05": time.Second,
		"2026-11-30T12:00:05.2Z": 100 * time.Millisecond, "2026-11-30T12:00:05.20-11:00": 10 * time.Millisecond, "2026-11-30 12:00:05,250": time.Millisecond,
		"2026-11-30T12:00:05.250123456Z": time.Millisecond, "2026-11-30 12:00": time.Minute,
	} {
		if got := lasts(text); got != want {
			t.Errorf("%s lasts %s, want %s", text, got, want)
		}
	}
	var r TraceRequest
	if err := r.Set("at", "2026-11-30T12:00:05.2Z"); err != nil || r.Until.Sub(r.At) != 100*time.Millisecond {
		t.Errorf("%+v, %v", r, err)
	}
	for text, want := range map[string]bool{"2026-11-30T12:00:06Z": true, "2026-11-30T12:00:05.2Z": false, "2026-11-30T13:00:05.2Z": true, "2026-11-30T13:00:05.3Z": false, "": false} {
		if err := r.Set("until", text); (err == nil) != want {
			t.Errorf("until %q: %v", text, err)
		}
	}
}
