package config

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/schema"
)

// validated are the texts that another program refuses by the schema, with its reasons.
func validated(t *testing.T, texts map[string]string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	program, file := filepath.Join(folder, "validate"), filepath.Join(folder, "schema.json")
	if out, err := exec.Command("go", "build", "-C", "../../tools", "-buildvcs=false", "-o", program, "./validate").CombinedOutput(); err != nil {
		t.Fatalf("build the validator: %v: %s", err, out)
	}
	made, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, made, 0o600); err != nil {
		t.Fatal(err)
	}
	var lines, stderr bytes.Buffer
	for name, text := range texts {
		root, ok := parseYAML(new(schema.Faults), []byte(text), "")
		var document any
		if !ok {
			t.Fatalf("%s is no YAML", name)
		}
		if err := root.Decode(&document); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := json.NewEncoder(&lines).Encode(map[string]any{"name": name, "document": document}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	command := exec.CommandContext(t.Context(), program, file)
	command.Stdin, command.Stderr = &lines, &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	refused := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, why, _ := strings.Cut(line, " | ")
		refused[name] = why
	}
	return refused
}

// Every example is let through by the schema.
func TestSchemaTakesExamples(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for name, block := range documentedBlocks(t) {
		if !strings.Contains(name, "delegate.md") { // parts of one file
			texts[name] = whole(block)
		}
	}
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/*/*.yaml", "testdata/*.good.yml"} {
		for name, text := range textsOf(t, pattern) {
			texts[name] = text
		}
	}
	for name, why := range validated(t, texts) {
		t.Errorf("%s: %s", name, why)
	}
	if len(texts) < 60 {
		t.Errorf("%d texts were looked at", len(texts))
	}
}

// fault is what the schema sees: a key that there is not, or is missing, a value of another type or not one of a few words.
var fault = regexp.MustCompile(`unknown key "[a-z_]+"|the key (interfaces|realm|dns|pool) is missing|want [a-z-]+ or [a-z-]+, not "[a-z]+"|want a mapping|want a list`)

// Files with a fault that a schema can tell are refused.
func TestSchemaRefusesFaults(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for name, text := range textsOf(t, "testdata/*.bad.yml") { // but for those about aliases, which JSON has none of
		want, _, _ := strings.Cut(text, "\n")
		if _, parses := parseYAML(new(schema.Faults), []byte(text), ""); parses && fault.MatchString(want) && !strings.Contains(name, "yaml-") {
			texts[name] = text
		}
	}
	refused := validated(t, texts)
	for name := range texts {
		if refused[name] == "" {
			t.Errorf("%s is let through", name)
		}
	}
	if len(texts) < 30 {
		t.Errorf("%d texts were looked at", len(texts))
	}
}

// textsOf are the contents of files by their names.
func textsOf(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

// Each key of the reference is in the schema, where it says.
func TestSchemaHasEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	root := sectionSchema(schema.Keys(new(Config).drafts(nil)))
	rows := readRows(t, string(text))
	for path := range rows {
		at := root
		for _, name := range strings.Split(path, ".") {
			if at = at.below(strings.TrimSuffix(name, "[]")); at == nil {
				t.Errorf("%s is not in the schema", path)
				break
			}
		}
		if at != nil && at.Description == "" {
			t.Errorf("%s has no description", path)
		}
	}
	if len(rows) < 100 {
		t.Errorf("%d keys were looked for", len(rows))
	}
}

// below finds a property in whatever shape the value has.
func (s *jsonSchema) below(name string) *jsonSchema {
	if found := s.Properties[name]; found != nil {
		return found
	}
	for _, shape := range append(s.AnyOf, s.Items) {
		if shape != nil {
			if found := shape.below(name); found != nil {
				return found
			}
		}
	}
	return nil
}
