package lists

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// What is wrong with a copy on the disk.
var (
	ErrNoCopy  = errors.New("there is no copy on the disk")
	ErrDamaged = errors.New("the copy on the disk is damaged")
)

const (
	copySuffix = ".list"
	tempPrefix = ".new-" // no name begins with a dot
	mostCopy   = 1 << 30 // bytes: a bound on what a damaged folder can make us read
)

// Store keeps the last good copy of each list, with what the server calls it, in a
// folder that is the store's own. Its methods may be called concurrently for lists of
// different names.
type Store struct{ folder string }

// OpenStore makes the folder if need be, and removes what an earlier daemon left half
// written.
func OpenStore(folder string) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for lists: %w", err)
	}
	s := &Store{folder}
	return s, s.remove(func(file string) bool { return strings.HasPrefix(file, tempPrefix) })
}

// checkName keeps what is no plain name of a file out of the folder's paths.
func checkName(name string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	if name == "" || len(name) > 64 || name[0] == '.' || strings.Trim(name, allowed) != "" {
		return fmt.Errorf("%q is no name for a list: want 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.', not '.' first", name)
	}
	return nil
}

func (s *Store) path(name string) string { return filepath.Join(s.folder, name+copySuffix) }

// Save replaces the copy of a list. After a nil error the new one is on the disk; after
// another, or a loss of power on the way, it is the one or the other, whole.
func (s *Store) Save(name string, c Copy) error {
	if err := checkName(name); err != nil {
		return err
	}
	parts, err := c.encode()
	if err == nil {
		err = s.write(s.path(name), parts)
	}
	if err != nil {
		return fmt.Errorf("keep the list %s on the disk: %w", name, err)
	}
	return nil
}

func (s *Store) write(path string, parts [][]byte) (err error) {
	file, err := os.CreateTemp(s.folder, tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the error that led here says more
		}
	}()
	for _, part := range parts {
		if _, err = file.Write(part); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if err = errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return err
	}
	return s.sync()
}

// sync brings the names of the folder to the disk.
func (s *Store) sync() error {
	folder, err := os.Open(s.folder)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Load returns the copy of a list from a source. ErrNoCopy is of one that there is not,
// or of another source; ErrDamaged of one that cannot be trusted.
func (s *Store) Load(name, source string) (Copy, error) {
	if err := checkName(name); err != nil {
		return Copy{}, err
	}
	c, err := s.read(s.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Copy{}, fmt.Errorf("list %s: %w", name, ErrNoCopy)
	case err != nil:
		return Copy{}, fmt.Errorf("read the list %s from the disk: %w", name, err)
	case c.Source != source:
		return Copy{}, fmt.Errorf("list %s: %w but of another source", name, ErrNoCopy)
	}
	return c, nil
}

func (s *Store) read(path string) (Copy, error) {
	file, err := os.Open(path)
	if err != nil {
		return Copy{}, err
	}
	data, err := io.ReadAll(newCapped(file, mostCopy))
	if err = errors.Join(err, file.Close()); err != nil {
		return Copy{}, err
	}
	return decodeCopy(data)
}

// Keep removes the copies of all lists but these.
func (s *Store) Keep(names []string) error {
	keep := map[string]bool{}
	for _, name := range names {
		keep[name+copySuffix] = true
	}
	return s.remove(func(file string) bool { return strings.HasSuffix(file, copySuffix) && !keep[file] })
}

func (s *Store) remove(unwanted func(file string) bool) error {
	entries, err := os.ReadDir(s.folder)
	for _, e := range entries {
		if unwanted(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(s.folder, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("clean up the folder of lists: %w", err)
	}
	return nil
}
