package lists

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A list may be a file of this machine: it is read when it has changed, and what is no
// file, or too large, is told.
func TestListFromAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "drop.txt")
	address := "file://" + path
	f := NewFetcher("test", Limits{Bytes: 100})
	write := func(text []byte, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	fetch := func(have Validators) Answer {
		t.Helper()
		a, err := f.Fetch(context.Background(), address, have)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if _, err := f.Fetch(context.Background(), address, Validators{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	first := time.Unix(1_800_000_000, 0)
	write([]byte("203.0.113.7\n"), first)
	have := fetch(Validators{})
	if string(have.Body) != "203.0.113.7\n" || have.Unchanged {
		t.Errorf("%+v", have)
	}
	if again := fetch(have.Validators); !again.Unchanged || again.Validators != have.Validators {
		t.Errorf("nothing has changed: %+v", again)
	}
	write([]byte("203.0.113.8\n"), first.Add(1))
	if next := fetch(have.Validators); next.Unchanged || string(next.Body) != "203.0.113.8\n" {
		t.Errorf("another text at another time: %+v", next)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte("203.0.113.9\n")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	write(zipped.Bytes(), first.Add(2))
	if next := fetch(have.Validators); string(next.Body) != "203.0.113.9\n" {
		t.Errorf("a compressed file: %+v", next)
	}
	write([]byte(strings.Repeat("#", 101)), first.Add(3))
	if _, err := f.Fetch(context.Background(), address, have.Validators); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{pipe, dir} {
		if _, err := f.Fetch(context.Background(), "file://"+not, Validators{}); err == nil || !strings.Contains(err.Error(), "is not a file") {
			t.Errorf("%s: %v", not, err)
		}
	}
	for _, bad := range []string{"file://host/drop.txt", "file:drop.txt", "file://"} {
		if err := CheckURL(bad); err == nil {
			t.Errorf("%s is an address", bad)
		}
	}
}
