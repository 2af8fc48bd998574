package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// It is shown again, also after it could not be, until Ctrl-C.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr strings.Builder
	times := 0
	err := watch(ctx, &stdout, &stderr, time.Microsecond, func(_ context.Context, w io.Writer) error {
		times++
		switch times {
		case 2:
			return errors.New("no gateway answers")
		case 4:
			stop()
		}
		_, err := io.WriteString(w, "well\n")
		return err
	})
	if want, told := "well\n\nwell\n", "no gateway answers\n"; err != nil || stdout.String() != want || stderr.String() != told {
		t.Errorf("%v, %q, want %q; %q, want %q", err, &stdout, want, &stderr, told)
	}
}

// What cannot be shown at all, or cannot be written, is an error.
func TestWatchFails(t *testing.T) {
	t.Parallel()
	fails := errors.New("no gateway answers")
	if err := watch(t.Context(), &strings.Builder{}, io.Discard, time.Hour, func(context.Context, io.Writer) error { return fails }); !errors.Is(err, fails) {
		t.Error(err)
	}
	times := 0
	err := watch(t.Context(), brokenPipe{}, io.Discard, time.Microsecond, func(_ context.Context, w io.Writer) error {
		times++
		_, err := io.WriteString(w, "well\n")
		return err
	})
	if err == nil || times != 1 {
		t.Errorf("%v after %d", err, times)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
