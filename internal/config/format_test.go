package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/schema"
)

// Every example in the repository keeps its comments and its meaning, and formatted twice it is as once.
func TestFormatOfExamples(t *testing.T) {
	t.Parallel()
	texts := documentedBlocks(t)
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/*/*.yaml", "testdata/*.good.yml", "testdata/*.bad.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, parses := parseYAML(new(schema.Faults), text, ""); parses || !strings.HasSuffix(file, ".bad.yml") {
				texts[file] = string(text)
			}
		}
	}
	for name, text := range layouts {
		texts["layout "+name] = above + text
	}
	refused := 0
	for name, text := range texts {
		made, err := Format(name, []byte(text))
		if err != nil {
			if refused++; !strings.HasSuffix(name, ".bad.yml") {
				t.Error(err)
			}
			continue
		}
		wantSame(t, name, text, string(made))
	}
	if len(texts)-refused < 250 {
		t.Errorf("%d texts were formatted, %d not", len(texts)-refused, refused)
	}
}

// aComment is one in the texts of the test: none has the sign in a value.
var aComment = regexp.MustCompile(`(?m)(^|[ \t])#.*?[ \t\r]*$`)

func wantSame(t *testing.T, name, text, made string) {
	t.Helper()
	if was, is := trimmed(aComment.FindAllString(text, -1)), trimmed(aComment.FindAllString(made, -1)); !slices.Equal(was, is) {
		t.Errorf("%s: comments %q became %q", name, was, is)
	}
	before, _ := parseYAML(new(schema.Faults), []byte(text), "")
	if after, ok := parseYAML(new(schema.Faults), []byte(made), ""); !ok || !same(before, after) {
		t.Errorf("%s says something else:\n%s", name, made)
	}
	if again, err := Format(name, []byte(made)); err != nil || string(again) != made {
		t.Errorf("%s: %v, once:\n%stwice:\n%s", name, err, made, again)
	}
}

func trimmed(list []string) []string {
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// What people copy is in the form that the program writes.
func TestExamplesAreCanonical(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../../examples/realmgate.yaml", "../../examples/network-function/realmgate.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if made, err := Format(file, text); err != nil || string(made) != string(text) {
			t.Errorf("realmgate config fmt -w %s: %v", file, err)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("198.51.100.1, ", 9) + "198.51.100.2"
	for text, want := range map[string]string{
		"a:   1\nb :  { c: 1,d: [ 2 ,3 ] }\n":              "a: 1\nb: {c: 1, d: [2, 3]}\n",
		"a:\n    b: 1\n    c:\n    - d\n    -   e: 1\n":    "a:\n  b: 1\n  c:\n    - d\n    - e: 1\n",
		"\n\na: 1\n\n\n\nb: 1\n\n":                         "a: 1\n\nb: 1\n",
		"a: 1 # x\nbcd: 1    # y\n\ne: 1 # z":              "a: 1   # x\nbcd: 1 # y\n\ne: 1 # z\n",
		"# head\n\na: 1\n # foot\n\n# end\n":               "# head\n\na: 1\n# foot\n\n# end\n",
		"a: # of a\n  # of b\n  b: 1\n  # last\nc: 1\n":    "a: # of a\n  # of b\n  b: 1\n  # last\nc: 1\n",
		"a: [1, # one\n  2,\n  # three\n  3]\n":            "a:\n  - 1 # one\n  - 2\n  # three\n  - 3\n",
		"a: [" + long + "]\n":                              "a:\n  - " + strings.ReplaceAll(long, ", ", "\n  - ") + "\n",
		"{a: 1, b: [c]}\n":                                 "a: 1\nb: [c]\n",
		"a: >-\n  one\n  two\nb: 'it''s # no comment'\n":   "a: \"one two\"\nb: 'it''s # no comment'\n",
		"a: |  # kept\n  # no comment\n  x\nb: 1\n":        "# kept\na: \"# no comment\\nx\\n\"\nb: 1\n",
		"a: one\n  two\nb: \"x\\\"#\\\n  y\"\n":            "a: \"one two\"\nb: \"x\\\"#y\"\n",
		"a:\r\n- b\r\n- c # d\r\n":                         "a:\n  - b\n  - c # d\n",
		"---\na:\n  # why\n  1\n...\n":                     "# why\na: 1\n",
		"- use: filter\n  deny:\n    [\n    192.0.2.0/24]": "- use: filter\n  deny: [192.0.2.0/24]\n",
		"ä: [ö, # ü\n  x]\n":                               "ä:\n  - ö # ü\n  - x\n",
		"a: {}\nb: []\nc:\n":                               "a: {}\nb: []\nc:\n",
	} {
		made, err := Format("x.yaml", []byte(text))
		if err != nil || string(made) != want {
			t.Errorf("%q: %v\n got %q\nwant %q", text, err, made, want)
			continue
		}
		if again, err := Format("x.yaml", made); err != nil || string(again) != want {
			t.Errorf("%q, twice: %v, %q", text, err, again)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "x.yaml:1: the file is empty",
		"a: [":            "x.yaml:1: not valid YAML",
		"a: 1\n---\nb: 1": "x.yaml:2: a second YAML document",
		"a: &b\n  c: 1\n": "x.yaml:1: it is written in a way that cannot be laid out anew",
		"? {a: 1}\n: 2\n": "x.yaml:1: it is written in a way that cannot be laid out anew",
	} {
		if made, err := Format("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %q", text, err, made)
		}
	}
}

// Whatever the text: it is refused, or says the same, and is in canonical form then.
func FuzzFormat(f *testing.F) {
	for _, text := range layouts {
		f.Add(above + text)
	}
	f.Add("a: |\n  # x\n# y\nb: 'c' # d\n")
	f.Fuzz(func(t *testing.T, text string) {
		made, err := Format("x.yaml", []byte(text))
		if err != nil {
			return
		}
		if again, err := Format("x.yaml", made); err != nil || string(again) != string(made) {
			t.Errorf("%v, once:\n%q\ntwice:\n%q", err, made, again)
		}
	})
}
