package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// recordDirectory holds one record per lab. Its owner keeps the record locked;
// the kernel drops the lock when the owner dies, whatever it dies of. Unlike a
// process id the lock is never somebody else's by chance, after a reboot or in
// another PID namespace either.
const recordDirectory = "/run/realmgate-lab"

// keptWord in a record says that its lab outlives its owner on purpose.
const keptWord = "kept"

// record is the locked file of a lab.
type record struct {
	path string
	file *os.File
}

// errLocked says that the owner of a record lives.
var errLocked = errors.New("record is locked by its owner")

// newRecord writes and locks the record of the lab called id.
func newRecord(id string, kept bool) (*record, error) {
	text := fmt.Sprintf("pid %d\n", os.Getpid())
	if kept {
		text += keptWord + "\n"
	}
	var r *record
	err := poll(5*time.Second, func() (bool, error) {
		// The last lab of another process may be removing the directory, and a
		// sweep may hold the lock while it looks: try again.
		if err := os.MkdirAll(recordDirectory, 0o755); err != nil {
			return false, err
		}
		var err error
		r, err = lockRecord(filepath.Join(recordDirectory, id), os.O_CREATE)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, errLocked) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("record of lab %s: %w", id, err)
	}
	if _, err := r.file.WriteString(text); err != nil {
		return nil, errors.Join(fmt.Errorf("record of lab %s: %w", id, err), r.remove())
	}
	return r, nil
}

// lockRecord opens and locks path. It returns errLocked when somebody else has
// the lock, and os.ErrNotExist when the record went away meanwhile.
func lockRecord(path string, flags int) (*record, error) {
	file, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// Between open and lock the file may have been removed: the lock would be
	// on something nobody else can find.
	ours, err := file.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(ours, there) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &record{path: path, file: file}, nil
}

// kept reports whether the record says that its lab is to stay.
func (r *record) kept() (bool, error) {
	text, err := os.ReadFile(r.path)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == keptWord {
			return true, nil
		}
	}
	return false, nil
}

// remove deletes the record, and the directory if it was the last.
func (r *record) remove() error {
	err := os.Remove(r.path)
	_ = os.Remove(recordDirectory) // fails while other labs have records there
	return errors.Join(err, r.file.Close())
}

// release unlocks the record and leaves it.
func (r *record) release() error { return r.file.Close() }

// poll calls f every few milliseconds until it reports true or an error, or
// until the time is over.
func poll(limit time.Duration, f func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		done, err := f()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %s: %w", limit, os.ErrDeadlineExceeded)
		}
		<-ticker.C
	}
}
