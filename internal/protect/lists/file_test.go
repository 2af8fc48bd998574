package lists

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFileIsReadOrToldByNameAndLine(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.txt")
	for _, c := range []struct{ text, want string }{
		{"203.0.113.7\n", ""},
		{"203.0.113.7\nx\n", path + ":2: want an address"},
		{"<html>", path + ": this is no list of addresses"},
		{"203.0.113.7\n203.0.113.8\n203.0.113.9\n", path + ":3: the list is too large"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ReadFile(path, Rules{Entries: 2})
		if (c.want == "") != (err == nil) || (err == nil) != (l != nil) || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{folder: "is no file", pipe: "is no file", path + "x": "no such file"} {
		if _, err := ReadFile(path, Rules{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
