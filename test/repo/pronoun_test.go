package repo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var pronoun = regexp.MustCompile(`\b[Hh](e|im|is|imself)\b`)

// checkPronouns wants hosts, clients and senders to be it: they are machines and programs.
func checkPronouns(r tree) (problems []string) {
	for _, file := range r.match(suffix(".go", ".c", ".h", ".md")) {
		folder, _, _ := strings.Cut(file, "/")
		if folder != "bpf" && folder != "internal" && folder != "docs" && folder != "test" && file != "README.md" {
			continue
		}
		text, _ := r.read(file)
		n := 0
		for line := range strings.Lines(text) {
			n++
			if word := pronoun.FindString(line); word != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: %q; hosts, clients and senders are it, and people have names", file, n, word))
			}
		}
	}
	return problems
}

func TestPronouns(t *testing.T) {
	t.Parallel()
	upholds(t, checkPronouns)
}

func TestPronounsCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkPronouns, map[string]string{
		"docs/guide/a.md":  "A client.\nH" + "e asks.\n",
		"bpf/pool/a.h":     "/* the sender h" + "imself */\n",
		"internal/a/a.go":  "// the history of this heap\n",
		"tools/tell/it.md": "h" + "is\n",
	}, "docs/guide/a.md:2:", "bpf/pool/a.h:1:")
}
