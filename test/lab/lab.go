package lab

import (
	"errors"
	"os"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// New returns a lab that is closed at the end of the test, also when it
// fails. Without root the test is skipped, or fails where the environment
// variable CI is set, so that a skip cannot hide a regression there.
func New(t testing.TB, prefix string) *netns.Lab {
	t.Helper()
	l, err := netns.New(prefix)
	closeAfter(t, l, err)
	return l
}

// NewRealm is New for netns.NewRealm.
func NewRealm(t testing.TB, o netns.Options) *netns.Realm {
	t.Helper()
	r, err := netns.NewRealm(o)
	if r == nil {
		closeAfter(t, nil, err)
		return nil
	}
	closeAfter(t, r.Lab, err)
	return r
}

func closeAfter(t testing.TB, l *netns.Lab, err error) {
	t.Helper()
	switch {
	case errors.Is(err, netns.ErrNotRoot) && os.Getenv("CI") == "":
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
