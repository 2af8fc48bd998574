package repo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// mention is a file or folder of this repository in a page's inline code: `internal/pool/bind.go`.
var mention = regexp.MustCompile("`((?:bpf|cmd|docs|examples|internal|test|tools)/[A-Za-z0-9_./-]*[A-Za-z0-9_-])/?`")

// checkMentions wants every file that a page names to exist, so that a walk through the code
// can be followed. NAME stands for many.
func checkMentions(r tree) []string {
	var problems []string
	for _, page := range r.match(suffix(".md")) {
		text, _ := r.read(page)
		for _, found := range mention.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if name := found[1]; !r.has(name) && !strings.Contains(name, "NAME") {
				problems = append(problems, fmt.Sprintf("%s: names %s, which does not exist", page, name))
			}
		}
	}
	return problems
}

func TestMentions(t *testing.T) {
	t.Parallel()
	upholds(t, checkMentions)
}

func TestMentionsCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkMentions, map[string]string{
		"docs/a.md":             strings.Join([]string{"`internal/pool/gone.go`", "`bpf/old/`", "`internal/pool/bind.go`", "`internal/pool`", "`bpf/nf/NAME.bpf.c`", "`cat docs/x`"}, " ") + "\n```\n`docs/code.md`\n```\n",
		"internal/pool/bind.go": "package pool\n",
	}, "internal/pool/gone.go", "bpf/old")
}
