package nftest

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Names are what settings mean by names: sets of addresses, and what is kept for functions.
type Names map[string]any

// Set implements nf.Names.
func (n Names) Set(name string) *model.AddressSet {
	set, _ := n[name].(*model.AddressSet)
	return set
}

// Kept implements nf.Names.
func (n Names) Kept(function string) any { return n[function] }

// Read reads a function's section as a file has it, without `use` and what all functions have.
func Read(t testing.TB, kind nf.Kind, section string) (nf.Settings, error) {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(section), &root); err != nil {
		t.Fatal(err)
	}
	given := &schema.Given{Faults: &schema.Faults{File: "test.yaml"}, Path: kind.Word, Line: 1}
	draft := kind.New("")
	schema.ReadSection(given.Faults, root.Content[0], given.Path, given.Line, given.Noting(draft.Keys()...))
	settings := draft.Finish(given)
	return settings, given.Err()
}

// Function is what is compiled of a section in which nothing is wrong.
func Function(t testing.TB, kind nf.Kind, section string, names Names) nf.Function {
	t.Helper()
	settings, err := Read(t, kind, section)
	if err != nil {
		t.Fatalf("%s: %v", section, err)
	}
	return settings.Function("it", names)
}

// Refuses wants each section to be refused, with these words.
func Refuses(t testing.TB, kind nf.Kind, words map[string]string) {
	t.Helper()
	for section, want := range words {
		if _, err := Read(t, kind, section); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", section, err, want)
		}
	}
}
