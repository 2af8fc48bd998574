package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Restoration is files on their way back to what they said before. What can fail for want of rights or room has been done; it is
// to be committed or discarded.
type Restoration struct {
	staged []staged
	gone   []string // files that were not there then
}

// staged is a file whose former text takes its name.
type staged struct{ path, next string }

// Restore prepares that files say again what they said. Nothing is changed yet.
func Restore(files []File) (_ *Restoration, err error) {
	r := &Restoration{}
	defer func() {
		if err != nil {
			r.Discard()
			err = fmt.Errorf("write the configuration back: %w", err)
		}
	}()
	there, err := filesOf(files[0].Path)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := r.stage(f, files[0].Path); err != nil {
			return nil, err
		}
	}
	for _, path := range there {
		if !slices.ContainsFunc(files, func(f File) bool { return f.Path == path }) {
			if err := unix.Access(filepath.Dir(path), unix.W_OK); err != nil {
				return nil, fmt.Errorf("rename %s: %w", path, err)
			}
			r.gone = append(r.gone, path)
		}
	}
	return r, nil
}

// stage prepares one file, unless it says what it is to say. One that is not there gets owner and mode of the first.
func (r *Restoration) stage(f File, first string) error {
	path, err := filepath.EvalSymlinks(f.Path)
	like := path
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path, like = f.Path, first
		err = os.Mkdir(filepath.Dir(path), 0o750)
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	case err == nil:
		var now []byte
		if now, err = os.ReadFile(path); err == nil && bytes.Equal(now, f.Text) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	next, err := stage(path, like, f.Text)
	if err == nil {
		r.staged = append(r.staged, staged{path, next})
	}
	return err
}

// Commit has the files say what they said. What stood there until now goes on under the names that it returns: nothing is lost
// that somebody has written.
func (r *Restoration) Commit(now time.Time) (kept []string, err error) {
	defer r.Discard() // what is left after an error
	keep := func(path string) error {
		name, err := keepAside(path, now)
		if name != "" {
			kept = append(kept, name)
		}
		return err
	}
	for len(r.staged) > 0 {
		s := r.staged[0]
		if err := keep(s.path); err != nil {
			return kept, fmt.Errorf("keep %s aside: %w", s.path, err)
		}
		if err := os.Rename(s.next, s.path); err != nil {
			return kept, fmt.Errorf("write the configuration back: %w", err)
		}
		r.staged = r.staged[1:]
	}
	for _, path := range r.gone {
		if err := errors.Join(keep(path), os.Remove(path)); err != nil {
			return kept, fmt.Errorf("put %s aside: %w", path, err)
		}
	}
	return kept, nil
}

// Discard gives up what was prepared.
func (r *Restoration) Discard() {
	for _, s := range r.staged {
		_ = os.Remove(s.next)
	}
	r.staged = nil
}

// mostKept bounds the files that are kept in one second.
const mostKept = 100

// keepAside gives a file another name beside its own, which says when and is nobody's.
func keepAside(path string, now time.Time) (string, error) {
	for n := range mostKept {
		name := path + ".kept-" + now.UTC().Format("20060102T150405Z")
		if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		err := os.Link(path, name)
		if err == nil {
			return name, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil // there is nothing to keep
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%d files are kept there already", mostKept)
}
