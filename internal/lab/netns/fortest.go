package netns

import (
	"errors"
	"os"
)

// TB is what the lab needs of a testing.TB.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// NewForTest returns a lab that is closed at the end of the test, also when it
// fails. Without root the test is skipped, or fails where the environment
// variable CI is set, so that a skip cannot hide a regression there.
func NewForTest(t TB, prefix string) *Lab {
	t.Helper()
	l, err := New(prefix)
	closeAfter(t, l, err)
	return l
}

// NewRealmForTest is NewForTest for NewRealm.
func NewRealmForTest(t TB, o Options) *Realm {
	t.Helper()
	r, err := NewRealm(o)
	if r == nil {
		closeAfter(t, nil, err)
		return nil
	}
	closeAfter(t, r.Lab, err)
	return r
}

func closeAfter(t TB, l *Lab, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNotRoot) && os.Getenv("CI") == "":
		t.Skipf("%v", err)
	case err != nil:
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("%v", err)
		}
	})
}
