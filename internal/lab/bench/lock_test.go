package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Who waits is served in turn, is told once who is at work, and can give up.
func TestLockServesInTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.lock")
	silent := func(what string) { t.Errorf("nobody waits: %s", what) }
	held, err := lock(t.Context(), path, silent)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan int, 3)
	join := func(ctx context.Context, n int) (ended chan error, told chan string) {
		ended, told = make(chan error, 1), make(chan string, 2)
		go func() {
			file, err := lock(ctx, path, func(what string) { told <- what })
			if err == nil {
				served <- n
				err = file.Close()
			}
			ended <- err
		}()
		untilQueued(t, path, n)
		return ended, told
	}
	first, told := join(t.Context(), 1)
	impatient, leave := context.WithCancel(t.Context())
	second, _ := join(impatient, 2)
	third, _ := join(t.Context(), 3)
	if what, want := <-told, fmt.Sprintf("another bench runs (pid %d): waiting", os.Getpid()); what != want {
		t.Errorf("it says %q, want %q", what, want)
	}
	leave()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the impatient one: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-first, <-third); err != nil {
		t.Fatal(err)
	}
	if a, b := <-served, <-served; a != 1 || b != 3 || len(told) > 0 {
		t.Errorf("served %d and %d, told %d times more", a, b, len(told))
	}
}

// untilQueued waits until the kernel has so many waiters for a lock.
func untilQueued(t *testing.T, path string, waiters int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for deadline := time.Now().Add(time.Minute); ; {
		text, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Fatal(err)
		}
		queued := 0
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "->") && strings.Contains(line, inode) {
				queued++
			}
		}
		if queued >= waiters {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d wait: %s", queued, waiters, text)
		}
		time.Sleep(time.Millisecond) // between two looks
	}
}
