package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockTime is how long another program may hold the file.
const lockTime = 5 * time.Second

var (
	// ErrDamaged is that the file is no store, or not all of one.
	ErrDamaged = errors.New("it is damaged")
	// ErrInUse is that another program has the file open.
	ErrInUse = errors.New("another program uses it")
)

// Store is a file of buckets of keys and values. Its methods may be called
// concurrently.
type Store struct {
	path     string
	openFile func(string, int, os.FileMode) (*os.File, error)
	writing  sync.Mutex              // held while it is changed, or opened for that
	database atomic.Pointer[bolt.DB] // nil until there is something to keep
}

// Open opens the file if there is one. Where it cannot be written it can be read even so.
// An error is ErrDamaged, ErrInUse, or of the file system.
func Open(path string) (*Store, error) { return openWith(path, os.OpenFile) }

func openWith(path string, openFile func(string, int, os.FileMode) (*os.File, error)) (*Store, error) {
	s := &Store{path: path, openFile: openFile}
	if s.isMissing() {
		return s, nil
	}
	err := s.open(false)
	if errors.Is(err, syscall.EROFS) {
		err = s.open(true)
	}
	return s, err
}

// isMissing reports whether there is no file, or an empty one.
func (s *Store) isMissing() bool {
	info, err := os.Stat(s.path)
	return errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0
}

// make makes the file, where there is none. Of one that the disk has no room for nothing stays.
func (s *Store) make() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the store: %w", err)
	}
	fresh := s.isMissing()
	err := s.open(false)
	if err != nil && fresh && !errors.Is(err, ErrInUse) {
		_ = os.Remove(s.path)
	}
	return err
}

func (s *Store) open(readOnly bool) error {
	var database *bolt.DB
	err := guarded(func() (err error) {
		database, err = bolt.Open(s.path, 0o600, &bolt.Options{Timeout: lockTime, ReadOnly: readOnly, OpenFile: s.openFile})
		return err
	})
	var system syscall.Errno
	switch {
	case err == nil:
		s.database.Store(database)
		return nil
	case errors.Is(err, bolterrors.ErrTimeout):
		err = ErrInUse
	case !errors.As(err, &system) && !errors.Is(err, ErrDamaged):
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return fmt.Errorf("open %s: %w", s.path, err)
}

// guarded makes an error of a panic: the library checks little of what it reads, and has a
// part of the file in memory that may not be there.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if what := recover(); what != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, what)
		}
	}()
	return do()
}

// Hint adds to an error what to do about the file that it may be of.
func Hint(path string, err error) error {
	switch {
	case errors.Is(err, ErrDamaged):
		return fmt.Errorf("move %s away to start without its bans, offences and bindings: %w", path, err)
	case errors.Is(err, ErrInUse):
		return fmt.Errorf("end the other daemon of the instance, or start this one with another --instance: %w", err)
	}
	return err
}

// Edit is what changes in a bucket.
type Edit struct {
	Bucket string
	Put    map[string][]byte
	Remove []string
}

// Change puts and removes entries of a bucket at once: after a nil error they are on
// the disk, after another nothing has changed.
func (s *Store) Change(bucket string, put map[string][]byte, remove []string) error {
	return s.ChangeAll(Edit{bucket, put, remove})
}

// ChangeAll is Change of several buckets, all of them at once.
func (s *Store) ChangeAll(edits ...Edit) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	there := s.database.Load() != nil
	if !slices.ContainsFunc(edits, func(e Edit) bool { return len(e.Put) > 0 || len(e.Remove) > 0 && there }) {
		return nil
	}
	if !there {
		if err := s.make(); err != nil {
			return err
		}
	}
	if err := s.beWritable(); err != nil {
		return err
	}
	err := guarded(func() error {
		return s.database.Load().Update(func(tx *bolt.Tx) error {
			for _, e := range edits {
				if err := e.apply(tx); err != nil {
					return fmt.Errorf("keep %s: %w", e.Bucket, err)
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	return nil
}

// beWritable opens the file anew where it could only be read until now.
func (s *Store) beWritable() error {
	readable := s.database.Load()
	if !readable.IsReadOnly() {
		return nil
	}
	file, err := s.openFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	if err := errors.Join(file.Close(), readable.Close()); err != nil {
		return fmt.Errorf("close %s: %w", s.path, err)
	}
	if err := s.open(false); err != nil {
		again := s.open(true)
		if again != nil {
			s.database.Store(nil)
		}
		return errors.Join(err, again)
	}
	return nil
}

func (e Edit) apply(tx *bolt.Tx) error {
	b, err := tx.CreateBucketIfNotExists([]byte(e.Bucket))
	if err != nil {
		return err
	}
	for key, value := range e.Put {
		err = errors.Join(err, b.Put([]byte(key), value))
	}
	for _, key := range e.Remove {
		err = errors.Join(err, b.Delete([]byte(key)))
	}
	return err
}

// Each calls visit for every entry of a bucket, until it returns an error.
func (s *Store) Each(bucket string, visit func(key string, value []byte) error) error {
	database := s.database.Load()
	if database == nil {
		return nil
	}
	err := guarded(func() error {
		return database.View(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			if b == nil {
				return nil
			}
			return b.ForEach(func(k, v []byte) error { return visit(string(k), v) })
		})
	})
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", bucket, s.path, err)
	}
	return nil
}

// Close closes the file. A nil Store has none.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if database := s.database.Load(); database != nil {
		return database.Close()
	}
	return nil
}
