package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// It is shown again, also after it could not be, until Ctrl-C.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var stdout strings.Builder
	times := 0
	err := watch(ctx, &stdout, time.Microsecond, func(context.Context) error {
		times++
		switch times {
		case 2:
			return errors.New("no gateway answers")
		case 3:
			stop()
		}
		stdout.WriteString("well\n")
		return nil
	})
	if want := "well\n\nno gateway answers\n\nwell\n"; err != nil || stdout.String() != want {
		t.Errorf("%v, %q, want %q", err, &stdout, want)
	}
}

// What cannot be shown at all, or cannot be written, is an error.
func TestWatchFails(t *testing.T) {
	t.Parallel()
	fails := errors.New("no gateway answers")
	if err := watch(t.Context(), &strings.Builder{}, time.Hour, func(context.Context) error { return fails }); !errors.Is(err, fails) {
		t.Error(err)
	}
	times := 0
	err := watch(t.Context(), brokenPipe{}, time.Microsecond, func(context.Context) error {
		times++
		return nil
	})
	if err == nil || times != 1 {
		t.Errorf("%v after %d", err, times)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
