package cli

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const reference = "../../docs/reference/cli.md"

// pages maps each command to its flags, each as "`-o`, `--output FORMAT` | table".
type pages map[string][]string

var flagRow = regexp.MustCompile("^\\| ((?:`-[a-z]`, )?`--[^`]+`) \\| ([^|]+) \\| [A-Z`].{9,} \\|$")

// readPages reads the headings "## realmgate status" and the rows below each.
func readPages(text string) pages {
	found, command := pages{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			command, found[heading] = heading, nil
		} else if cells := flagRow.FindStringSubmatch(line); cells != nil {
			found[command] = append(found[command], cells[1]+" | "+cells[2])
		} else if strings.HasPrefix(line, "| `-") {
			found[command] = append(found[command], "not a row for a flag: "+line)
		}
	}
	return found
}

// walk leaves out hidden commands, which are for the program itself.
func walk(command *cobra.Command, visit func(*cobra.Command)) {
	if command.Hidden {
		return
	}
	visit(command)
	for _, child := range command.Commands() {
		walk(child, visit)
	}
}

// treePages says what the reference must have. Flags of every command stand
// with the root.
func treePages(root *cobra.Command) pages {
	root.InitDefaultHelpCmd()
	root.InitDefaultHelpFlag()
	want := pages{}
	walk(root, func(command *cobra.Command) {
		path := command.CommandPath()
		want[path] = nil
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			row := "`" + strings.TrimSpace("--"+f.Name+" "+name) + "`"
			if f.Shorthand != "" {
				row = "`-" + f.Shorthand + "`, " + row
			}
			standard := f.DefValue
			if standard == "" || standard == "false" || standard == "[]" {
				standard = "–"
			}
			want[path] = append(want[path], row+" | "+standard)
		})
	})
	return want
}

// differences compares both ways, whatever the order of the flags.
func differences(documented, tree pages) []string {
	var found []string
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		rows, ok := documented[path]
		if !ok {
			found = append(found, path+" has no heading in the reference")
		}
		for _, row := range tree[path] {
			if !slices.Contains(rows, row) {
				found = append(found, path+": the reference lacks | "+row+" | … |")
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(documented)) {
		if _, ok := tree[path]; !ok {
			found = append(found, path+" is in the reference, and is no command")
			continue
		}
		for _, row := range documented[path] {
			if !slices.Contains(tree[path], row) {
				found = append(found, path+": the program lacks | "+row)
			}
		}
	}
	return found
}

func newTree() *cobra.Command { return newApp(&bytes.Buffer{}, &bytes.Buffer{}).root() }

func TestReferenceMatchesCommands(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range differences(readPages(string(text)), treePages(newTree())) {
		t.Error(difference)
	}
}

// Proof that the comparison can fail.
func TestReferenceComparisonFails(t *testing.T) {
	tree := pages{"realmgate": nil, "realmgate a": {"`-x`, `--ex N` | 1"}}
	for text, want := range map[string]int{
		"## realmgate\n## realmgate a\n| `-x`, `--ex N` | 1 | A sentence on it. |\n":                        0,
		"## realmgate a\n| `-x`, `--ex N` | 1 | A sentence on it. |\n":                                      1,
		"## realmgate\n## realmgate a\n":                                                                    1,
		"## realmgate\n## realmgate a\n| `-x`, `--ex N` | 2 | A sentence on it. |\n":                        2,
		"## realmgate\n## realmgate a\n| `-x`, `--ex N` | 1 | |\n":                                          2,
		"## realmgate\n## realmgate a\n| `-x`, `--ex N` | 1 | A sentence on it. |\n## realmgate b\n":        1,
		"## realmgate\n| `--y` | – | A sentence on it. |\n## realmgate a\n| `-x`, `--ex N` | 1 | And it. |": 3,
	} {
		if got := differences(readPages(text), tree); len(got) != want {
			t.Errorf("%q: %d differences, want %d: %q", text, len(got), want, got)
		}
	}
}

// Every command explains itself, and its examples are command lines that the
// program takes.
func TestHelp(t *testing.T) {
	walk(newTree(), func(command *cobra.Command) {
		path := command.CommandPath()
		if len(command.Short) < 10 || len(command.Long) < 10 || strings.HasSuffix(command.Short, ".") {
			t.Errorf("%s has no help", path)
		}
		if command.HasParent() && command.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for line := range strings.Lines(command.Long) {
			if len(line) > 85 {
				t.Errorf("%s: a line of its help is too wide: %s", path, line)
			}
		}
		for line := range strings.Lines(command.Example) {
			line = strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|>&", r) })[0]
			words := strings.Fields(line)
			found, rest, err := newTree().Find(words[1:])
			// A command that only holds others shows how these are used.
			ofChild := err == nil && command.HasSubCommands() && strings.HasPrefix(found.CommandPath(), path+" ")
			if words[0] != "realmgate" || err != nil || found.CommandPath() != path && !ofChild {
				t.Errorf("%s: the example %q is not of this command: %v", path, line, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: the example %q: %v", path, line, err)
			}
		}
		for _, line := range [][]string{append(strings.Fields(path)[1:], "--help"), append([]string{"help"}, strings.Fields(path)[1:]...)} {
			r := execute(t.Context(), line...)
			if r.code != exitOK || r.stderr != "" || !strings.HasPrefix(r.stdout, command.Long) {
				t.Errorf("%s: %+v", line, r)
			}
		}
	})
}
