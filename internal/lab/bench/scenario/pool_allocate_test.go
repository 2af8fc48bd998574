package scenario

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What is held up by a slow answer was due all the same.
func TestTurnsAreDueAtTheirRate(t *testing.T) {
	t.Parallel()
	const n, rate, slow = 40, 1000, 20 * time.Millisecond
	done := make([]time.Time, n)
	due, err := turns(t.Context(), 1, n, rate, func(_, turn int) error {
		if turn == 0 {
			time.Sleep(slow) // a slow answer
		}
		done[turn] = time.Now()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range due {
		if want := due[0].Add(time.Duration(i) * time.Second / rate); !due[i].Equal(want) {
			t.Errorf("turn %d was due %s after the first, want %s", i, due[i].Sub(due[0]), want.Sub(due[0]))
		}
		if done[i].Before(due[i]) {
			t.Errorf("turn %d was done %s before it was due", i, due[i].Sub(done[i]))
		}
	}
	if held := done[1].Sub(due[1]); held < slow-time.Second/rate {
		t.Errorf("behind an answer of %s the next took %s", slow, held)
	}
}

func TestTurnsEndWithAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if _, err := turns(t.Context(), 3, 100, 0, func(_, _ int) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns(ctx, 3, 100, 0, func(_, _ int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
