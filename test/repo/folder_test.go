package repo

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

const developing = "docs/guide/develop.md"

var (
	firstCell   = regexp.MustCompile(`(?m)^\| (.*?) \|`)
	namedFolder = regexp.MustCompile("`((?:bpf|cmd|examples|internal|test|tools|…)(?:/[a-z0-9_/-]+)?)`")
	isCode      = suffix(".go", ".c", ".h")
)

// checkFolders wants every folder of code to have its place in the first column of the guide's
// tables: by its whole path, or as `…/NAME` below or beside the one whose whole path is before it
// in the row. In a row that begins with it, `…/NAME` is below every named folder.
func checkFolders(r tree) []string {
	text, _ := r.read(developing)
	named, everywhere := map[string]bool{}, map[string]bool{}
	for _, row := range firstCell.FindAllStringSubmatch(text, -1) {
		first := ""
		for _, found := range namedFolder.FindAllStringSubmatch(row[1], -1) {
			below, short := strings.CutPrefix(found[1], "…/")
			switch {
			case !short:
				named[found[1]], first = true, found[1]
			case first == "":
				everywhere[below] = true
			case r.has(path.Join(first, below)):
				named[path.Join(first, below)] = true
			default:
				named[path.Join(path.Dir(first), below)] = true
			}
		}
	}
	var problems []string
	seen := map[string]bool{}
	for _, file := range r.match(isCode) {
		folder := path.Dir(file)
		if seen[folder] {
			continue
		}
		seen[folder] = true
		if !named[folder] && (!everywhere[path.Base(folder)] || !named[path.Dir(folder)]) {
			problems = append(problems, folder+": has no place in "+developing+": say there what it is for")
		}
	}
	for folder := range named {
		if !r.has(folder) {
			problems = append(problems, developing+": names "+folder+", which does not exist")
		}
	}
	return problems
}

func TestFoldersHaveTheirPlace(t *testing.T) {
	t.Parallel()
	upholds(t, checkFolders)
}

func TestFoldersHaveTheirPlaceCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkFolders, map[string]string{
		developing: "`internal/prose`\n\n| Folder | What |\n| --- | --- |\n| `bpf` | all; `bpf/aside` |\n| `…/settings` in a room | keys |\n" +
			"| `internal/events`, `…/event`, `internal/store` | x |\n| `internal/guard/ban`, `…/geo`, `…/gone` | y |\n",
		"bpf/gateway.bpf.c":                  "",
		"bpf/aside/a.h":                      "",
		"internal/prose/a.go":                "",
		"tools/told/a.go":                    "",
		"internal/events/a.go":               "",
		"internal/events/event/a.go":         "",
		"internal/store/a.go":                "",
		"internal/guard/ban/a.go":            "",
		"internal/guard/ban/settings/a.go":   "",
		"internal/guard/geo/settings/a.go":   "",
		"internal/guard/lists/settings/a.go": "",
		"internal/guard/geo/testdata/a.txt":  "",
	}, "bpf/aside: has no place", "internal/prose: has no place", "tools/told: has no place", "internal/guard/lists/settings: has no place",
		"names internal/guard/gone, which does not exist")
}
