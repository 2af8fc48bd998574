package reload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
)

// What the file had when it could not be written does not count; what somebody writes after it does.
func TestWhatIsUndoneDoesNotCount(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	now := []config.File{{Path: g.path, Text: []byte(other(60))}}
	r := record{Files: g.now.Filed.Files(), Undone: now}
	for file, want := range map[string]string{other(60): text, other(61): other(61)} {
		g.must(r.write(g.state))
		g.write(file)
		d, err := Read(g.path, g.state)
		g.must(err)
		if is := string(d.Files()[0].Text); is != want {
			t.Errorf("starts with:\n%s\nwant:\n%s", is, want)
		}
		g.start()
		if left, err := readRecord(g.state); err != nil || left != nil {
			t.Errorf("what comes back is not forgotten: %+v, %v", left, err)
		}
	}
	g.must(r.write(g.state))
	if d, err := Read(filepath.Join(t.TempDir(), "none.yaml"), g.state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of another file: %v, %v", d, err)
	}
	g.must(os.WriteFile(g.state, []byte("{"), 0o600))
	if _, err := Read(g.path, g.state); err == nil || !strings.Contains(err.Error(), "remove it to start") {
		t.Errorf("damaged: %v", err)
	}
}

// What cannot be promised is not begun.
func TestNoDisk(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.must(os.WriteFile(filepath.Dir(g.state), nil, 0o600)) // no folder can be made there
	g.write(other(60))
	if err := g.try(5); err == nil || g.now.Generation != 1 || g.status().Unconfirmed != nil {
		t.Errorf("%v, %+v", err, g.status())
	}
	if err := g.try(0); err != nil {
		t.Errorf("without confirmation: %v", err)
	}
}
