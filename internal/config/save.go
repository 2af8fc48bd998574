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

func replaceFile(path string, data []byte) error {
	path, err := filepath.EvalSymlinks(path) // the file that a link leads to
	if err != nil {
		return err
	}
	next, err := stage(path, path, data)
	if err != nil {
		return err
	}
	return os.Rename(next, path)
}

// stage writes what is to take the name of path, with owner and mode of a file that is there, and returns where.
func stage(path, like string, data []byte) (_ string, err error) {
	old, err := os.Stat(like)
	if err != nil {
		return "", err
	}
	if !old.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file that can be written anew", like)
	}
	next, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next.Name()))
		}
	}()
	_, err = next.Write(data)
	owner := old.Sys().(*syscall.Stat_t)
	// The owner first: a change of it may take bits of the mode away.
	err = errors.Join(err, next.Chown(int(owner.Uid), int(owner.Gid)), next.Chmod(old.Mode()), next.Sync(), next.Close())
	return next.Name(), err
}
