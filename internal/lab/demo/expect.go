package demo

import (
	"context"
	"fmt"
	"time"
)

// mismatch is an observation that is not as it should be.
type mismatch struct{ what, expected, seen string }

func (m mismatch) Error() string {
	return fmt.Sprintf("%s\nexpected: %s\nseen:     %s", m.what, m.expected, m.seen)
}

// expect compares an observation with what it should be.
func expect[T comparable](what string, seen, expected T) error {
	if seen == expected {
		return nil
	}
	return mismatch{what, fmt.Sprint(expected), fmt.Sprint(seen)}
}

// patience bounds every wait for something that takes milliseconds where all is
// well.
const patience = 10 * time.Second

// await asks again and again until something has happened, and at most for
// patience. seen says, for the error, how things stand.
func await(ctx context.Context, what string, happened func() (done bool, seen string, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		done, seen, err := happened()
		if done || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			if cause := context.Cause(ctx); cause != errLate { //nolint:errorlint // it is ours, never wrapped
				return cause
			}
			return mismatch{what, fmt.Sprintf("within %s", patience), seen}
		}
	}
}

var errLate = fmt.Errorf("not within %s", patience)
