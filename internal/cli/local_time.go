package cli

import (
	"errors"
	"fmt"
	"time"
)

// parseTime reads a time, of the zone where it says none. An hour that a zone has twice, or not at all, is refused.
func (a *app) parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	for _, form := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		t, err := time.ParseInLocation(form, s, a.zone) // with parts of a second, too
		if err != nil {
			continue
		}
		meant, _ := time.ParseInLocation(form, s, time.UTC) // the same clock, where no hour is missing or there twice
		return t, once(t, meant)
	}
	return time.Time{}, errors.New(`use a date and a time, as "2026-11-30 09:12:03"`)
}

// once refuses a time at which the zone's clock does not show what is meant, or has shown it before or will again.
func once(t, meant time.Time) error {
	const form = "2006-01-02T15:04:05.999Z07:00"
	_, offset := t.Zone()
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, other := t.Add(near).Zone()
		again := t.Add(time.Duration(offset-other) * time.Second)
		if _, now := again.Zone(); other == offset || now != other {
			continue
		}
		first, second := t, again
		if second.Before(first) {
			first, second = second, first
		}
		return fmt.Errorf("clocks showed that twice, as they were set back: write %s or %s", first.Format(form), second.Format(form))
	}
	if _, offset := t.Zone(); !t.Add(time.Duration(offset) * time.Second).Equal(meant) {
		return fmt.Errorf("clocks never showed that, as they were set forward: write a time with its offset, as %s", t.Format(form))
	}
	return nil
}
