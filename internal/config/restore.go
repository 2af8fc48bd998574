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

// Restoration is files on their way back to what they said before. What can fail for want of rights or room, or as a file is
// mounted where it is, has been done; it is to be committed or discarded.
type Restoration struct {
	now    time.Time
	staged []staged
	made   []string // folders that were not there
}

// staged is a file whose former text takes its name.
type staged struct {
	path string
	next string // has that text; empty: the file was not there then
	kept string // is what stands there now; empty: nothing does
}

// Restore prepares that files say again what they said. What they say now has another name already, beside its own; else nothing
// is changed yet.
func Restore(files []File, now time.Time) (_ *Restoration, err error) {
	r := &Restoration{now: now}
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
			if err := r.add(path, ""); err != nil {
				return nil, err
			}
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
		switch err = os.Mkdir(filepath.Dir(path), 0o750); {
		case err == nil:
			r.made = append(r.made, filepath.Dir(path))
		case errors.Is(err, fs.ErrExist):
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
	if err != nil {
		return err
	}
	return r.add(path, next)
}

// add keeps what stands at a path. A file that is a mount of its own has no other name, and none can take its: it fails here.
func (r *Restoration) add(path, next string) error {
	kept, err := keepAside(path, r.now)
	r.staged = append(r.staged, staged{path, next, kept})
	if err != nil {
		return fmt.Errorf("keep %s aside: %w", path, err)
	}
	return nil
}

// Commit has the files say what they said, also after a crash of the machine. What stood there until now goes on under the names
// that it returns: nothing is lost that somebody has written.
func (r *Restoration) Commit() (kept []string, err error) {
	defer r.Discard() // what is left after an error
	folders := slices.Clone(r.made)
	for _, made := range r.made {
		folders = append(folders, filepath.Dir(made))
	}
	for len(r.staged) > 0 {
		s := r.staged[0]
		names, err := r.replace(s)
		if kept = append(kept, names...); err != nil {
			return kept, err
		}
		r.staged = r.staged[1:]
		folders = append(folders, filepath.Dir(s.path))
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		if err := SyncFolder(folder); err != nil {
			return kept, fmt.Errorf("write the configuration back: %w", err)
		}
	}
	return kept, nil
}

// replace gives the name of a file to its former text, or to none. It returns what is kept of those that had it.
func (r *Restoration) replace(s staged) (kept []string, err error) {
	if !oneFile(s.path, s.kept) { // somebody has written it since
		name, err := keepAside(s.path, r.now)
		if err != nil {
			return nil, fmt.Errorf("keep %s aside: %w", s.path, err)
		}
		if name != "" {
			kept = append(kept, name)
		}
	}
	if s.next == "" {
		err = os.Remove(s.path)
	} else {
		err = os.Rename(s.next, s.path)
	}
	if err != nil {
		return kept, fmt.Errorf("write the configuration back: %w", err)
	}
	if s.kept != "" {
		kept = append(kept, s.kept)
	}
	return kept, nil
}

// oneFile reports whether two names are of one file.
func oneFile(path, other string) bool {
	a, err := os.Stat(path)
	b, err2 := os.Stat(other)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// SyncFolder has the names in a folder outlive a crash of the machine.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Discard gives up what was prepared.
func (r *Restoration) Discard() {
	for _, s := range r.staged {
		for _, name := range []string{s.next, s.kept} {
			if name != "" {
				_ = os.Remove(name)
			}
		}
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
