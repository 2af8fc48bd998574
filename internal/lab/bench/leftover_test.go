package bench

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Only what measurements made goes, not what a person has named like it.
func TestRemoveLeftovers(t *testing.T) {
	run, pins, state := t.TempDir(), t.TempDir(), t.TempDir()
	gone := []string{
		filepath.Join(run, "rg-bench-0123abcd"), filepath.Join(run, "bench-0123abcd-1.sock"), filepath.Join(run, "bench-0123abcd-12.lock"),
		filepath.Join(pins, "bench-0123abcd-1"), filepath.Join(state, "bench-0123abcd-1.db"),
	}
	kept := []string{
		// Instances of a person, to which no measurement has a folder.
		filepath.Join(run, "bench-20260101-1.sock"), filepath.Join(pins, "bench-20260101-1"), filepath.Join(pins, "default"),
		filepath.Join(pins, "bench-0123abcd"), filepath.Join(pins, "my-bench-0123abcd-1"), filepath.Join(pins, "bench-0123abcd-1-old"),
		filepath.Join(state, "bench-20260101-1.db"), filepath.Join(state, "default.db"), filepath.Join(run, "bench.lock"), filepath.Join(run, "bench-host.json"),
		filepath.Join(run, "rg-bench-0123abcd-1"), filepath.Join(run, "rg-bench-mine"), filepath.Join(run, "rg-demo-0123abcd"),
	}
	for _, path := range slices.Concat(gone, kept) {
		if err := os.MkdirAll(filepath.Join(path, "inside"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeLeftoversOf(run, pins, state); err != nil {
		t.Fatal(err)
	}
	for _, path := range gone {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays: %v", filepath.Base(path), err)
		}
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s goes: %v", filepath.Base(path), err)
		}
	}
}
