package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var update = flag.Bool("update", false, "write what is shown to testdata")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestShown(t *testing.T) {
	interrupted := sample()
	interrupted.Incomplete = "interrupted"
	interrupted.Results = interrupted.Results[:3]
	later := sample()
	later.Environment.Kernel, later.Options = "6.19.0", map[string]string{"set-up": "self-clocked", "sessions": "200000"}
	later.Results = later.Results[1:]
	for _, i := range []int{1, 2} { // faster now, and out of the former range
		r := &later.Results[i]
		r.Median, r.P1, r.P99 = r.Median*1.5, r.P1*1.5, r.P99*1.5
	}
	later.Ratios[0].Value *= 1.2
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table":             func(b *bytes.Buffer) error { return Table(b, sample(), 0) },
		"table-narrow":      func(b *bytes.Buffer) error { return Table(b, interrupted, 60) },
		"table-interrupted": func(b *bytes.Buffer) error { return Table(b, interrupted, 0) },
		"trials":            func(b *bytes.Buffer) error { return CSV(b, sample()) },
		"compare":           func(b *bytes.Buffer) error { return Compare(b, sample(), later, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			if err := write(&text); err != nil {
				t.Fatal(err)
			}
			golden(t, name, text.String())
		})
	}
}

// Prose keeps to the width; rows of figures are never broken.
func TestWidth(t *testing.T) {
	for _, width := range []int{40, 60, 100, 200} {
		for _, line := range wrap(strings.Repeat("some words that go on ", 30), "  ", width) {
			if utf8.RuneCountInString(line) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
}

// A report without anything is shown, too.
func TestEmptyReport(t *testing.T) {
	var text bytes.Buffer
	r := bench.Report{Schema: bench.Schema, Scenario: "none"}
	for _, err := range []error{Table(&text, r, 0), CSV(&text, r), JSON(&text, r), HTML(&text, r), Compare(&text, r, r, 0)} {
		if err != nil {
			t.Error(err)
		}
	}
}
