package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := s.Each("bucket", func(key string, value []byte) error { all[key] = string(value); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// What was changed is there when the file is opened anew, and no file is made for
// nothing.
func TestStoreKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "a.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Change("bucket", nil, []string{"none"}); err != nil || len(contents(t, s)) != 0 {
		t.Errorf("an empty store: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made for nothing")
	}
	if err := s.Change("bucket", map[string][]byte{"a": []byte("1"), "b": []byte("2"), "c": []byte("3")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Change("bucket", map[string][]byte{"b": []byte("4")}, []string{"a", "none"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(path); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, s), map[string]string{"b": "4", "c": "3"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What changes together is there together, or not at all.
func TestStoreChangesSeveralBuckets(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	good := Edit{Bucket: "bucket", Put: map[string][]byte{"a": []byte("1")}}
	if err := s.ChangeAll(Edit{Bucket: "other", Remove: []string{"none"}}, good); err != nil {
		t.Fatal(err)
	}
	good.Put["b"] = []byte("2")
	if err := s.ChangeAll(good, Edit{Bucket: "other", Put: map[string][]byte{"": nil}}); err == nil {
		t.Error("a key without a letter was taken")
	}
	if got, want := contents(t, s), map[string]string{"a": "1"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A file that is no store, or not all of one, is told apart from one that is in use, and
// never a panic.
func TestFileThatIsNoStore(t *testing.T) {
	whole := fullStore(t, filepath.Join(t.TempDir(), "a.db"))
	for name, text := range map[string][]byte{
		"no store": []byte("this is no database, and longer than a page of nothing"), "less than a page": whole[:100],
		"a page": whole[:4096], "three pages": whole[:3*4096], "half": whole[:len(whole)/2], "zeros": make([]byte, len(whole)),
		"its first pages": append(bytes.Clone(whole[:2*4096]), make([]byte, len(whole)-2*4096)...),
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err == nil {
			err = errors.Join(s.Each("bucket", func(string, []byte) error { return nil }), s.Close())
		}
		if !errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fullStore makes a file of several pages, and returns its contents.
func fullStore(t *testing.T, path string) []byte {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	put := map[string][]byte{}
	for i := range 1000 {
		put[fmt.Sprint(i)] = []byte("some hundred bytes would do as well as these do")
	}
	if err := errors.Join(s.Change("bucket", put, nil), s.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFileThatIsInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	fullStore(t, path)
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := Open(path); !errors.Is(err, ErrInUse) || errors.Is(err, ErrDamaged) {
		t.Errorf("the second has %v", err)
	}
}

// A file that cannot be written can be read, refuses changes, and takes them once it can.
func TestReadOnlyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	fullStore(t, path)
	readOnly := true
	s, err := openWith(path, func(path string, flag int, mode os.FileMode) (*os.File, error) {
		if readOnly && flag != os.O_RDONLY {
			return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EROFS}
		}
		return os.OpenFile(path, flag, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		if err := s.Change("bucket", nil, []string{"1"}); !errors.Is(err, syscall.EROFS) {
			t.Errorf("it was changed: %v", err)
		}
		if n := len(contents(t, s)); n != 1000 {
			t.Errorf("it has %d entries", n)
		}
	}
	readOnly = false
	if err := s.Change("bucket", nil, []string{"1"}); err != nil || len(contents(t, s)) != 999 {
		t.Errorf("it has %d entries: %v", len(contents(t, s)), err)
	}
}

// A file that the disk had no room for does not stay in part, and is made once there is
// room; one that was there stays whatever fails.
func TestDiskThatIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	full := true
	s, err := openWith(path, func(path string, flag int, mode os.FileMode) (*os.File, error) {
		if full {
			if err := os.WriteFile(path, make([]byte, 512), mode); err != nil {
				return nil, err
			}
			return nil, &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return os.OpenFile(path, flag, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
	put := map[string][]byte{"a": []byte("1")}
	if err := s.Change("bucket", put, nil); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrDamaged) {
		t.Errorf("it was changed: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part of it stays: %v", err)
	}
	full = false
	if err := errors.Join(s.Change("bucket", put, nil), s.Close()); err != nil {
		t.Fatal(err)
	}
	s.database.Store(nil)
	s.openFile = func(string, int, os.FileMode) (*os.File, error) { return nil, syscall.EIO }
	if err := s.Change("bucket", put, nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("it was changed: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

// Several who write at once make one file, and open one that could only be read once for all.
func TestWritersOpenTheFileTogether(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		path, refused := filepath.Join(t.TempDir(), "a.db"), syscall.Errno(0)
		if there {
			fullStore(t, path)
			refused = syscall.EROFS
		}
		s, err := openWith(path, func(path string, flag int, mode os.FileMode) (*os.File, error) {
			if refused != 0 && flag != os.O_RDONLY {
				return nil, &os.PathError{Op: "open", Path: path, Err: refused}
			}
			return os.OpenFile(path, flag, mode)
		})
		if err != nil {
			t.Fatal(err)
		}
		refused = 0
		var writers sync.WaitGroup
		for i := range 4 {
			writers.Go(func() {
				if err := s.Change("bucket", map[string][]byte{fmt.Sprintf("new %d", i): []byte("1")}, nil); err != nil {
					t.Errorf("there %t: %v", there, err)
				}
			})
		}
		writers.Wait()
		before := 0
		if there {
			before = 1000
		}
		if n := len(contents(t, s)); n != before+4 {
			t.Errorf("there %t: it has %d entries", there, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
