package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// lockTime is how long another program may hold the file.
const lockTime = 5 * time.Second

// Store is a file of buckets of keys and values. Its methods may be called
// concurrently.
type Store struct {
	path     string
	database *bolt.DB // nil until there is something to keep
}

// Open opens the file if there is one.
func Open(path string) (*Store, error) {
	s := &Store{path: path}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	return s, s.open()
}

func (s *Store) open() (err error) {
	if err = os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the store: %w", err)
	}
	if s.database, err = bolt.Open(s.path, 0o600, &bolt.Options{Timeout: lockTime}); err != nil {
		return fmt.Errorf("open %s (does another daemon use it?): %w", s.path, err)
	}
	return nil
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
	if s.database == nil {
		if !slices.ContainsFunc(edits, func(e Edit) bool { return len(e.Put) > 0 }) {
			return nil
		}
		if err := s.open(); err != nil {
			return err
		}
	}
	err := s.database.Update(func(tx *bolt.Tx) error {
		for _, e := range edits {
			if err := e.apply(tx); err != nil {
				return fmt.Errorf("keep %s: %w", e.Bucket, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
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
	if s.database == nil {
		return nil
	}
	err := s.database.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error { return visit(string(k), v) })
	})
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", bucket, s.path, err)
	}
	return nil
}

// Close closes the file. A nil Store has none.
func (s *Store) Close() error {
	if s == nil || s.database == nil {
		return nil
	}
	return s.database.Close()
}
