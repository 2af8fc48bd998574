package datapath

import (
	"errors"
	"os"
	"testing"
	"time"
)

// A stream that fails again and again is neither given up nor read in a spin.
func TestFailingStreamIsReadAtLeisure(t *testing.T) {
	began := time.Now()
	calls, failures, heard := 0, 0, 0
	follow(func() (int, error) {
		calls++
		switch passed := time.Since(began); {
		case passed < 300*time.Millisecond:
			return 0, errors.New("no")
		case heard < 3:
			return 1, nil
		}
		return 0, os.ErrClosed
	}, func(error) { failures++ }, func(n int) { heard += n })
	if heard != 3 || failures == 0 || calls > 15 {
		t.Errorf("%d calls, %d failures, %d heard", calls, failures, heard)
	}
}
