package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A killed daemon has its lock a moment longer; a running one keeps it.
func TestLockOfADyingDaemonIsAwaited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.lock")
	held, err := lockFile(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(path, "test"); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("locked twice: %v", err)
	}
	time.AfterFunc(200*time.Millisecond, func() { _ = held.Close() })
	next, err := lockFile(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	_ = next.Close()
}
