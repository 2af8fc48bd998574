package lists

import (
	"fmt"
	"time"
)

const (
	firstRetry  = time.Minute // after one failure; twice as long after each further one
	jitter      = 0.1         // of each wait, more or less: many gateways do not ask at once
	shrunk      = 0.5         // of the entries before: below, the list is refused
	leastShrunk = 20          // entries; below, a half is a matter of a few
	// patience is how often a list must be that short, one refresh after the other, until
	// it is believed.
	patience = 3
)

// State knows what a list is, and decides whether the next copy is accepted and when to
// fetch again. The zero value is not usable.
type State struct {
	interval time.Duration
	chance   func() float64

	list       *List      // the last good copy, or nil
	validators Validators // of it
	fetched    time.Time  // when it came
	checked    time.Time  // when the server last said that it is the newest
	next       time.Time

	failures int   // since the last success
	err      error // of the last attempt, or nil

	short, shortBy int // refreshes in a row that were too short, and entries of the last
	forced         bool
}

// NewState makes the state of a list that is to be fetched at once and then every
// interval, which must be positive. chance gives numbers in [0, 1).
func NewState(interval time.Duration, chance func() float64) *State {
	return &State{interval: interval, chance: chance}
}

// Restore takes over a copy that was fetched earlier, from the disk. It is refreshed when
// it would have been.
func (s *State) Restore(l *List, v Validators, fetched, now time.Time) {
	if fetched.After(now) { // the clock was set back
		fetched = now
	}
	s.list, s.validators, s.fetched, s.checked = l, v, fetched, fetched
	if s.next = fetched.Add(s.interval); s.next.Before(now) {
		s.next = now
	}
}

// Take decides about a new copy. It returns ErrShrunk where the one before stays.
func (s *State) Take(l *List, v Validators, now time.Time) error {
	if err := s.judge(l); err != nil {
		s.err, s.failures = err, 0
		s.next = now.Add(s.spread(s.interval))
		return err
	}
	s.list, s.validators, s.fetched = l, v, now
	s.succeed(now)
	return nil
}

// judge refuses a list that has lost most of what it had: its author's mistake opens the
// gateway. It believes one that stays so, and one that the user wants.
func (s *State) judge(l *List) error {
	if s.forced || s.list == nil || s.list.Entries < leastShrunk || float64(l.Entries) >= shrunk*float64(s.list.Entries) {
		return nil
	}
	if s.short > 0 && float64(l.Entries) < shrunk*float64(s.shortBy) {
		s.short = 0 // it goes on shrinking: it does not stay so
	}
	s.shortBy = l.Entries
	if s.short++; s.short >= patience {
		return nil
	}
	return fmt.Errorf("%w: %d entries, there were %d; it is accepted if it stays so (%d of %d refreshes), or when forced",
		ErrShrunk, l.Entries, s.list.Entries, s.short, patience)
}

// Unchanged notes that the copy we have is still the newest. v is what to ask with.
func (s *State) Unchanged(v Validators, now time.Time) {
	s.validators = v
	s.succeed(now)
}

func (s *State) succeed(now time.Time) {
	s.checked, s.failures, s.err, s.short, s.forced = now, 0, nil, 0, false
	s.next = now.Add(s.spread(s.interval))
}

// Fail notes that no copy came. The next attempt is soon, and less so after each failure.
func (s *State) Fail(err error, now time.Time) {
	s.err = err
	wait := firstRetry
	for range s.failures {
		if wait >= s.interval {
			break
		}
		wait *= 2
	}
	s.failures++
	s.next = now.Add(s.spread(min(wait, s.interval)))
}

// spread moves a wait a bit, never beyond the interval by more than that bit.
func (s *State) spread(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (1 + jitter*(2*s.chance()-1)))
}

// Force lets the next copy in however short it is, and asks for it now.
func (s *State) Force(now time.Time) { s.forced, s.next = true, now }

// List returns what is in force, or nil.
func (s *State) List() *List { return s.list }

// Validators returns what to ask the server with: those of the copy in force, so that one
// that was refused is sent again.
func (s *State) Validators() Validators { return s.validators }

// Next returns when to fetch. The zero time is at once.
func (s *State) Next() time.Time { return s.next }
