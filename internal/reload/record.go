package reload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/config"
)

// record is what comes back unless somebody confirms. It is a file of its own, as it is needed before anything is opened.
type record struct {
	Files []config.File `json:"files"`
	Back  int           `json:"back,omitempty"` // their number in the history
	Since time.Time     `json:"since"`
	By    string        `json:"by"`
	// Undone is what the files say that could not be written back, and is in force no more; nil before that.
	Undone []config.File `json:"undone,omitempty"`
}

// readRecord returns nil where there is none.
func readRecord(path string) (*record, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read what comes back: %w", err)
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil || len(r.Files) == 0 {
		return nil, fmt.Errorf("read what comes back, which was not confirmed: %s is damaged: remove it to start with the configuration file", path)
	}
	return r, nil
}

// holds reports whether it is still about a file: another one may be started with, or somebody has written it since.
func (r *record) holds(file string) bool {
	if r == nil || r.Files[0].Path != file {
		return false
	}
	if r.Undone == nil {
		return true
	}
	now, err := config.FilesAt(file)
	return err == nil && config.SameFiles(now, r.Undone)
}

// write has it outlive a crash, of the machine too.
func (r *record) write(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep what comes back: %w", err)
		}
	}()
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(next.Name()) }() // which is not there after all went well
	_, err = next.Write(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	if err = os.Rename(next.Name(), path); err != nil {
		return err
	}
	return config.SyncFolder(folder)
}

func removeRecord(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget what comes back: %w", err)
	}
	return config.SyncFolder(filepath.Dir(path))
}

// tell says what became of the file.
func (r *record) tell(file string, kept []string, err error) string {
	const undone = "a reload was not confirmed and is undone"
	switch {
	case err != nil:
		return fmt.Sprintf("%s, but %s still has it: %v: change the file and reload", undone, file, err)
	case len(kept) == 0:
		return undone
	}
	return fmt.Sprintf("%s: what the file had is in %s", undone, strings.Join(kept, ", "))
}

// Read is what a gateway starts with: the file, or what it said before a reload that nobody has confirmed.
func Read(file, state string) (*config.Document, error) {
	r, err := readRecord(state)
	if err != nil {
		return nil, err
	}
	if !r.holds(file) {
		return config.Read(file)
	}
	d, err := config.FromFiles(r.Files)
	if err != nil {
		return nil, fmt.Errorf("%w\nthis is what came before a reload that was not confirmed: remove %s to start with the configuration file", err, state)
	}
	return d, nil
}
