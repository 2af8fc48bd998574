package api

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestListenModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0)) // the modes must not depend on it
	path := filepath.Join(t.TempDir(), "run", "a.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{filepath.Dir(path): os.ModeDir | 0o711, path: os.ModeSocket | 0o600} {
		info, err := os.Stat(file)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", file, info.Mode(), err, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket outlived its listener: %v", err)
	}
}

// stale leaves a socket behind, as a killed daemon does.
func stale(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListenTakesOverStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sock")
	stale(t, path)
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := Listen(path); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: %v", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the refused second one took the socket away: %v", err)
	}
	_ = conn.Close()
}

// Of many that find a stale socket at once, exactly one gets it.
func TestListenRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sock")
	stale(t, path)
	var won, refused int
	var mutex sync.Mutex
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			l, err := Listen(path)
			mutex.Lock()
			defer mutex.Unlock()
			switch {
			case err == nil:
				won++
				t.Cleanup(func() { _ = l.Close() })
			case errors.Is(err, ErrInUse):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won != 1 || refused != 19 {
		t.Errorf("%d listen, %d were refused", won, refused)
	}
}

func TestListenRefusals(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                               "not a socket",
		filepath.Join(file, "a.sock"):      "make the directory",
		"/tmp/" + strings.Repeat("a", 103): "use at most 107",
	} {
		if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file was touched: %q, %v", text, err)
	}
}
