package events

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// offer has an outlet take lines, and returns how many it took.
func offer(t *testing.T, out outlet, lines ...string) (int, error) {
	t.Helper()
	var list [][]byte
	for _, l := range lines {
		list = append(list, []byte(l))
	}
	return out.deliver(t.Context(), list, func(error) {})
}

func mustTake(t *testing.T, out outlet, lines ...string) {
	t.Helper()
	if n, err := offer(t, out, lines...); err != nil || n != len(lines) {
		t.Fatalf("%d of %d lines: %v", n, len(lines), err)
	}
}

func mustHold(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %v: %q, want %q", path, err, got, want)
	}
}

func fileIn(t *testing.T) *file {
	f := &file{path: filepath.Join(t.TempDir(), "events.jsonl")}
	t.Cleanup(func() { _ = f.close(t.Context()) })
	return f
}

func TestFileIsAppendedToAndMadeForItsOwnerAlone(t *testing.T) {
	f := fileIn(t)
	mustTake(t, f)
	mustTake(t, f, "a", "b")
	info, err := os.Stat(f.path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	next := &file{path: f.path}
	mustTake(t, next, "c")
	mustTake(t, f, "d")
	mustHold(t, f.path, "a\nb\nc\nd\n")
	if err := next.close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Nobody tells that a file was moved away, removed or cut.
func TestFileThatIsRotated(t *testing.T) {
	f := fileIn(t)
	mustTake(t, f, "a")
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		t.Fatal(err)
	}
	mustTake(t, f, "b")
	mustHold(t, f.path+".1", "a\n")
	mustHold(t, f.path, "b\n")
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path, []byte("made by another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustTake(t, f, "c")
	mustHold(t, f.path, "made by another\nc\n")
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	mustTake(t, f, "d")
	mustHold(t, f.path, "d\n")
	if err := os.Truncate(f.path, 0); err != nil {
		t.Fatal(err)
	}
	mustTake(t, f, "e")
	mustHold(t, f.path, "e\n")
}

func TestFileWithALineThatWasLeftUnfinished(t *testing.T) {
	f := fileIn(t)
	if err := os.WriteFile(f.path, []byte("a\n{\"ti"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustTake(t, f, "b")
	mustHold(t, f.path, "a\n{\"ti\nb\n")
}

func TestFileThatCannotBe(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(folder, "none", "events.jsonl"): "no such file or directory: make its directory",
		folder:      "is a directory",
		pipe:        "is no regular file",
		"/dev/null": "is no regular file",
	} {
		for range 2 {
			if n, err := offer(t, &file{path: path}, "a"); n != 0 || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s took %d lines: %v, want %q", path, n, err, want)
			}
		}
	}
	f := &file{path: filepath.Join(folder, "late", "events.jsonl")}
	if _, err := offer(t, f, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Dir(f.path), 0o700); err != nil {
		t.Fatal(err)
	}
	mustTake(t, f, "a")
	_ = f.close(t.Context())
}

// What a full disk did not take is written once it does, and no line twice.
func TestFileOnADiskThatIsFull(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs root to make a small disk:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &file{path: filepath.Join(disk, "events.jsonl")}
	defer func() { _ = f.close(t.Context()) }()
	line := strings.Repeat("x", 3000)
	lines := []string{line, line, line, line}
	taken := 0
	for range 3 {
		n, err := offer(t, f, lines[taken:]...)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%d lines: %v", n, err)
		}
		taken += n
	}
	if taken == 0 || f.part == 0 {
		t.Fatalf("%d lines and %d bytes", taken, f.part)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	mustTake(t, f, lines[taken:]...)
	want := bytes.Repeat([]byte(line+"\n"), len(lines))
	if got, err := os.ReadFile(f.path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
	}
}
