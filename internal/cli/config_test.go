package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/client"
)

var formerly = []client.HistoryEntry{
	{Number: 41, Since: started, By: "gateway", How: api.HowStart, Generation: 1},
	{Number: 42, Since: started.Add(time.Hour), By: "user 1000", How: api.HowConfirm, Generation: 2},
	{
		Number: 43, Since: started.Add(2 * time.Hour), By: "gateway", How: api.HowUnconfirmed, To: 41, Generation: 3,
		Kept: []string{"/etc/realmgate.yaml.kept-20260301T140000Z"},
	},
	{Number: 44, Since: started.Add(3 * time.Hour), By: "token ann", How: api.HowRollback, To: 42, Generation: 4},
	{Number: 45, Since: started.Add(26 * time.Hour), By: "user 0", How: api.HowSave, Generation: 6},
}

// fmt -w writes what fmt prints, and what is in canonical form is not written again.
func TestConfigFormatWrites(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/untidy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "realmgate.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	printed := execute(t.Context(), "config", "fmt", file)
	if r := execute(t.Context(), "config", "fmt", "-w", file); r != (result{}) {
		t.Fatalf("%+v", r)
	}
	once, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := os.ReadFile(file); err != nil || string(made) != printed.stdout {
		t.Errorf("printed:\n%s\nwritten, %v:\n%s", printed.stdout, err, made)
	}
	if r := execute(t.Context(), "config", "fmt", "-w", file); r != (result{}) {
		t.Fatalf("%+v", r)
	}
	if twice, err := os.Stat(file); err != nil || !os.SameFile(once, twice) {
		t.Errorf("a file in canonical form is written again: %v", err)
	}
}

// Differences are told as diff(1) does: by what is printed, and the exit code.
func TestConfigDiff(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"config-diff": {"config", "diff"}, "config-diff-json": {"config", "diff", "-o", "json"}} {
		r := execute(t.Context(), append(args, "--socket", populated().serve(t))...)
		if r.code != exitError || r.stderr != "" {
			t.Errorf("%s: exit %d, %s", name, r.code, r.stderr)
		}
		golden(t, name, r.stdout)
	}
	refuses := &fakeDaemon{refusal: "/etc/realmgate.yaml:3: one\n/etc/realmgate.yaml:4: two"}
	if r := execute(t.Context(), "config", "diff", "--socket", refuses.serve(t)); r.code != exitError || r.stderr != "realmgate: "+refuses.refusal+"\n" {
		t.Errorf("%+v", r)
	}
}

// What is printed is a JSON Schema of the draft that it says.
func TestConfigSchema(t *testing.T) {
	t.Parallel()
	r := execute(t.Context(), "config", "schema")
	var schema struct {
		Schema     string `json:"$schema"`
		Required   []string
		Dependent  map[string][]string `json:"dependentRequired"`
		Properties map[string]any
	}
	if err := json.Unmarshal([]byte(r.stdout), &schema); err != nil || r.code != exitOK {
		t.Fatalf("exit %d: %v", r.code, err)
	}
	if schema.Schema != "https://json-schema.org/draft/2020-12/schema" || !slices.Equal(schema.Required, []string{"interfaces"}) || len(schema.Dependent["realm"]) != 3 || schema.Properties["hosts"] == nil {
		t.Errorf("%s, %q, %d properties", schema.Schema, schema.Required, len(schema.Properties))
	}
}

// A file that is no YAML stays as it is, and its fault has its place.
func TestConfigFormatRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "realmgate.yaml")
	if err := os.WriteFile(file, []byte("dns:\n  public: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := execute(t.Context(), "config", "fmt", "-w", file)
	if left, err := os.ReadFile(file); r.code != exitError || !strings.HasPrefix(r.stderr, file+":2: not valid YAML") || err != nil || len(left) != 17 {
		t.Errorf("%+v, %v, left %q", r, err, left)
	}
}
