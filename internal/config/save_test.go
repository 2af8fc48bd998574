package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file is written anew with its owner and mode, where a link leads to, and nothing is
// left beside it.
func TestSave(t *testing.T) {
	directory := t.TempDir()
	file, link := filepath.Join(directory, "real.yaml"), filepath.Join(directory, "link.yaml")
	if err := os.WriteFile(file, []byte(above+layouts["block"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.yaml", link); err != nil {
		t.Fatal(err)
	}
	const mode, owner = 0o640, 4711
	if os.Geteuid() == 0 {
		if err := os.Chown(file, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	d, err := Read(link)
	if err != nil {
		t.Fatal(err)
	}
	if d, err = d.Remove("out", "last"); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(); err != nil {
		t.Fatal(err)
	}
	after, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	stat := after.Sys().(*syscall.Stat_t)
	if after.Mode() != mode || os.Geteuid() == 0 && (stat.Uid != owner || stat.Gid != owner) {
		t.Errorf("mode %s, owner %d:%d", after.Mode(), stat.Uid, stat.Gid)
	}
	again, err := Read(file)
	if err != nil || order(again, "out") != "filter" {
		t.Errorf("%q: %v", order(again, "out"), err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 2 {
		t.Errorf("beside the file: %v, %v", entries, err)
	}
}

func TestSaveRefuses(t *testing.T) {
	d := document(t, above)
	gone := filepath.Join(t.TempDir(), "gone.yaml")
	for file, want := range map[string]string{gone: "no such file", "/dev/null": "is not a file that can be written anew"} {
		d.file = file
		if err := d.Save(); err == nil || !strings.HasPrefix(err.Error(), "write the configuration: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
