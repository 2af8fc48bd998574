package systemd

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given map[string]string
		want  Environment
	}{
		"nothing":           {nil, Environment{}},
		"a socket":          {map[string]string{"NOTIFY_SOCKET": "/run/a"}, Environment{Socket: "/run/a"}},
		"a watchdog":        {map[string]string{"NOTIFY_SOCKET": "@a", "WATCHDOG_USEC": "30000000"}, Environment{"@a", 30 * time.Second}},
		"ours":              {map[string]string{"WATCHDOG_USEC": "5", "WATCHDOG_PID": "7"}, Environment{Watchdog: 5 * time.Microsecond}},
		"another process's": {map[string]string{"WATCHDOG_USEC": "5", "WATCHDOG_PID": "8"}, Environment{}},
		"no number":         {map[string]string{"WATCHDOG_USEC": "soon"}, Environment{}},
	} {
		left := maps.Clone(c.given)
		got := Read(7, func(name string) string { return c.given[name] }, func(name string) error { delete(left, name); return nil })
		if got != c.want || len(left) > 0 {
			t.Errorf("%s: %+v, want %+v; %v is left", name, got, c.want, left)
		}
	}
}

// listen is a socket as systemd has one, and what is told there.
func listen(t *testing.T) (address string, told func() string) {
	t.Helper()
	address = filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return address, func() string {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		message := make([]byte, 4096)
		n, err := c.Read(message)
		if err != nil {
			t.Fatal(err)
		}
		return string(message[:n])
	}
}

// It is ready once it serves and not before, is silent while it hangs, and stops, or begins again.
func TestService(t *testing.T) {
	t.Parallel()
	for last, again := range map[string]bool{"STOPPING=1": false, "RELOADING=1\nMONOTONIC_USEC=": true} {
		testService(t, last, again)
	}
}

func testService(t *testing.T, last string, again bool) {
	t.Helper()
	address, told := listen(t)
	var asked atomic.Int32
	hangs, healed := make(chan struct{}), make(chan struct{})
	s := New(Options{
		Environment: Environment{address, 30 * time.Millisecond}, Log: slog.New(slog.DiscardHandler),
		Ready: func(context.Context) error {
			if asked.Add(1) < 3 {
				return errors.New("not yet")
			}
			return nil
		},
		Health: func() (string, error) {
			select {
			case <-hangs:
				<-healed
			default:
			}
			return "Serving:\nall", nil
		},
		Again: func() bool { return again },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	if m := told(); m != "READY=1" || asked.Load() != 3 {
		t.Errorf("%q after %d looks", m, asked.Load())
	}
	for range 3 {
		if m := told(); m != "WATCHDOG=1\nSTATUS=Serving: all" {
			t.Errorf("%q", m)
		}
	}
	close(hangs)
	if c := s.Prepare(false); c.Settle != nil || c.Discard != nil { // a list that is fetched anew is no reload
		t.Error("no reload is told as one")
	}
	change := s.Prepare(true)
	for range 5 { // what was on its way
		m := told()
		if strings.HasPrefix(m, "RELOADING=1\nMONOTONIC_USEC=") {
			break
		}
		if !strings.HasPrefix(m, "WATCHDOG=1\n") {
			t.Errorf("%q", m)
		}
	}
	for what, over := range map[string]func(){"a reload": change.Settle, "a refused one": change.Discard} {
		over()
		if m := told(); m != "READY=1" {
			t.Errorf("after %s: %q", what, m)
		}
	}
	close(healed)
	if m := told(); m != "WATCHDOG=1\nSTATUS=Serving: all" {
		t.Errorf("%q", m)
	}
	cancel()
	for { // what was on its way; told waits for 10 s at most
		if m := told(); strings.HasPrefix(m, last) {
			break
		} else if !strings.HasPrefix(m, "WATCHDOG=1\n") {
			t.Errorf("%q", m)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Where nobody listens, or nobody any more, the gateway goes on.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", filepath.Join(t.TempDir(), "none"), "@none"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := New(Options{
			Environment: Environment{Socket: address}, Log: slog.New(slog.DiscardHandler),
			Ready: func(context.Context) error { return nil }, Health: func() (string, error) { cancel(); return "", nil }, Again: func() bool { return false },
		})
		if address == "" {
			cancel()
		}
		if err := s.Run(ctx); err != nil {
			t.Errorf("%q: %v", address, err)
		}
		s.Prepare(true).Settle()
		cancel()
	}
}
