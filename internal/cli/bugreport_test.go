package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Who guesses the name that a report will have can lead it nowhere else, and takes nothing of it; a name that was asked for is
// written over.
func TestReportFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	theirs, name := filepath.Join(folder, "theirs"), filepath.Join(folder, "name")
	if err := os.WriteFile(theirs, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, plant := range map[string]func(old, name string) error{"a link": os.Link, "a symbolic link": os.Symlink} {
		if err := plant(theirs, name); err != nil {
			t.Fatal(err)
		}
		if _, err := createReport("", name); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
	for _, asked := range []string{theirs, ""} {
		file, err := createReport(asked, name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := file.Stat(); err != nil || info.Size() != 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %+v, %v", asked, info, err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}
