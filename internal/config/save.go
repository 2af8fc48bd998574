package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Save writes the files that have another text now.
func (d *Document) Save() error {
	for _, s := range d.sources() {
		if there, err := os.ReadFile(s.file); err == nil && bytes.Equal(there, s.text) {
			continue
		}
		if err := Replace(s.file, s.text); err != nil {
			return err
		}
	}
	return nil
}

// Replace writes another text to a file, whole or not at all: what was there is there until
// the new text, with the same owner and mode, takes its name.
func Replace(file string, text []byte) error {
	if err := replaceFile(file, text); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

func replaceFile(path string, data []byte) (err error) {
	if path, err = filepath.EvalSymlinks(path); err != nil { // the file that a link leads to
		return err
	}
	old, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !old.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file that can be written anew", path)
	}
	next, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next.Name()))
		}
	}()
	_, err = next.Write(data)
	owner := old.Sys().(*syscall.Stat_t)
	// The owner first: a change of it may take bits of the mode away.
	if err = errors.Join(err, next.Chown(int(owner.Uid), int(owner.Gid)), next.Chmod(old.Mode()), next.Sync(), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), path)
}
