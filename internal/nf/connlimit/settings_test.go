package connlimit

import (
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// A table has places for as many sources as it says.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for entries, want := range map[int]uint32{1: 1, 8: 1, 9: 2, 1024: 128, 1025: 256, 1032: 256} {
		if got := (ConnLimit{Entries: entries}).buckets(); got != want {
			t.Errorf("%d entries: %d buckets, want %d", entries, got, want)
		}
	}
}

// What a file may say, and must.
func TestSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ConnLimit{
		"{connections: 20}":                            {20, 5 * time.Minute, 4096},
		"{connections: 64, idle: 90s, entries: 65536}": {64, 90 * time.Second, 65536},
		"{}":                           {},
		"{connections: 65}":            {},
		"{connections: 0}":             {},
		"{connections: 1, idle: 10ms}": {},
	} {
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		faults := &schema.Faults{File: "test.yaml"}
		given := &schema.Given{Faults: faults}
		d := Kind.New("")
		schema.ReadSection(faults, root.Content[0], "", 1, given.Noting(d.Keys()...))
		got := d.Finish(given).Function("", nil)
		switch err := faults.Err(); {
		case (err != nil) != (want == ConnLimit{}):
			t.Errorf("%s: %v", text, err)
		case err == nil && got != nf.Function(want):
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
