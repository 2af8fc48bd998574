package handover

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
)

// program is one that tells its arguments and environment, and ends as said.
func program(t *testing.T, end string) *Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "next")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"realmgate: $1 in $WHERE\" >&2\n"+end+"\n"), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	return &Program{Path: path, Environment: []string{"WHERE=here"}}
}

func TestHandover(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next    *Program
		refused string
	}{
		"nobody":        {nil, ""},
		"can":           {program(t, "exit 0"), ""},
		"cannot":        {program(t, "exit 1"), "cannot take over, and this one goes on: lookout in here"},
		"is not there":  {&Program{Path: "/nowhere/realmgate"}, "cannot take over, and this one goes on: fork/exec /nowhere/realmgate: no such file or directory"},
		"is no program": {&Program{Path: os.DevNull}, "permission denied"},
	} {
		kept, left := false, false
		s := New(Options{
			Next: c.next, Prepare: []string{"realmgate", "lookout"}, Sessions: func() (int, error) { return 2, nil },
			Keep: func() { kept = true }, Leave: func() { left = true }, Log: slog.New(slog.DiscardHandler),
		})
		done, err := s.Handover()
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) || kept || left || s.Wanted() {
				t.Errorf("%s: %v; kept %v, left %v, wanted %v", name, err, kept, left, s.Wanted())
			}
			continue
		}
		if want := (api.Handover{Sessions: 2}); err != nil || done != want || !kept || !left || !s.Wanted() {
			t.Errorf("%s: %+v, %v; kept %v, left %v, wanted %v", name, done, err, kept, left, s.Wanted())
		}
		if _, err := s.Handover(); err == nil {
			t.Errorf("%s: it hands over twice", name)
		}
	}
}

// A gateway that somebody stops, or that fails, does not go on.
func TestContinue(t *testing.T) {
	t.Parallel()
	s := New(Options{Next: &Program{Path: "/nowhere/realmgate"}, Log: slog.New(slog.DiscardHandler)})
	if err := s.Continue(t.Context(), nil); err != nil {
		t.Errorf("nobody asked: %v", err)
	}
	s.wanted.Store(true)
	if err := s.Continue(t.Context(), os.ErrClosed); err != os.ErrClosed { //nolint:errorlint // that very one
		t.Errorf("it failed: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Continue(stopped, nil); err != nil {
		t.Errorf("it was stopped: %v", err)
	}
	if err := s.Continue(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "hand over to /nowhere/realmgate: no such file") {
		t.Errorf("nobody is there: %v", err)
	}
}
