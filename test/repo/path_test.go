package repo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// homes are the places below / where somebody's checkout or account may lie. The
// pieces are put together so that this file does not break its own rule.
var homes = strings.Join([]string{"work", "root", "home", "Users"}, "|")

// machinePath finds an absolute path into one of the homes, not a part of a
// longer path or of an address.
var machinePath = regexp.MustCompile(`(?:^|[^A-Za-z0-9_.~/$})*-])(/(?:` + homes + `)(?:/[A-Za-z0-9_.-]+)+|/(?:` + homes + `)/?(?:["'\s:]|$))`)

// checkPaths wants no path of one machine in any file, built objects included.
func checkPaths(r tree) []string {
	var problems []string
	for _, file := range r.files {
		text, _ := r.read(file)
		for number, line := range strings.Split(text, "\n") {
			if found := machinePath.FindStringSubmatch(line); found != nil {
				problems = append(problems, fmt.Sprintf("%s:%d: %q is a path of one machine", file, number+1, strings.TrimSpace(found[1])))
			}
		}
	}
	return problems
}

func TestMachinePaths(t *testing.T) {
	t.Parallel()
	upholds(t, checkPaths)
}

func TestMachinePathsCanFail(t *testing.T) {
	t.Parallel()
	slash := "/"
	rejects(t, checkPaths, map[string]string{
		"docs/a.md":       "run it in " + slash + "work/main/bin",
		"tools/b.sh":      "cd " + slash + "root\n",
		"internal/c.go":   "\nconst cache = \"" + slash + "home/ann/x\"\n",
		"bpf/d.o":         "\x7fELF\x00\x00" + slash + "root/src/gateway.bpf.c\x00",
		"docs/fine.md":    "/sys/fs/bpf ./work/tree $HOME/x docs/work/y ~/root http://example.net/home/page the root / of it",
		"internal/ok.go":  "filepath.Join(dir, \"work\")",
		"examples/ok.yml": "path: /var/lib/realmgate",
	}, "docs/a.md:1", "tools/b.sh:1", "internal/c.go:2", "bpf/d.o:1")
}
