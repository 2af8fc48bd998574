package gateway

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// noFiles has nothing be opened while do runs, so that no table can be made.
func noFiles(t *testing.T, do func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}

// A backend's state that could not be put into force is tried again with each answer, and
// not once more when it is.
func TestStateOfABackendIsTriedAgain(t *testing.T) {
	r := newRig(t, text+`outbound: {addresses: [198.18.0.2]}
chains:
  - name: web
    match: {direction: in, to: 198.18.0.2, protocol: tcp, port: 8000}
    functions:
      - use: multipath
        backends: [{to: 10.0.0.100, port: 8080}, {to: 10.0.0.101, port: 8080}]
        check: {every: 1h, fall: 1, rise: 1}
`)
	var b *balance
	for _, b = range r.view.Load().balances {
	}
	down := errors.New("it does not answer")
	for _, fault := range []error{down, nil} {
		noFiles(t, func() {
			for range 2 {
				if err := r.heard(b, 1, fault); err == nil {
					t.Errorf("after %v: no table can be made, and it is in force", fault)
				}
			}
		})
		if err := r.heard(b, 1, fault); err != nil {
			t.Errorf("after %v: %v", fault, err)
		}
		noFiles(t, func() {
			if err := r.heard(b, 1, fault); err != nil {
				t.Errorf("after %v: what is in force was tried again: %v", fault, err)
			}
		})
	}
	if up := b.up(); up != 2 {
		t.Errorf("%d are up", up)
	}
}
