package repo

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// checkBadFiles wants every rejected file to be used by a test of the package
// whose testdata it lies in: by its name, or by a pattern that takes them all.
func checkBadFiles(r tree) []string {
	var problems []string
	for _, file := range r.match(suffix(".bad.yml")) {
		owner, _, ok := strings.Cut(file, "/testdata/")
		if !ok {
			problems = append(problems, file+": a rejected file belongs in its package's testdata")
			continue
		}
		if !mentioned(r, owner, path.Base(file)) {
			problems = append(problems, fmt.Sprintf("%s: no test in %s uses it, by name or by *.bad.yml", file, owner))
		}
	}
	return problems
}

func mentioned(r tree, owner, name string) bool {
	stem := `"` + strings.TrimSuffix(name, ".bad.yml") + `"` // tables often leave the ending out
	for _, file := range r.match(suffix("_test.go")) {
		if path.Dir(file) != owner {
			continue
		}
		text, _ := r.read(file)
		if strings.Contains(text, name) || strings.Contains(text, stem) || strings.Contains(text, "*.bad.yml") {
			return true
		}
	}
	return false
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	upholds(t, checkBadFiles)
}

func TestBadFilesCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkBadFiles, map[string]string{
		"internal/config/testdata/port.bad.yml": "", "internal/config/testdata/zone.bad.yml": "",
		"internal/config/testdata/idle.bad.yml": "", "internal/config/load_test.go": `{"port.bad.yml", "x"}, {"zone", "y"}`,
		"internal/api/testdata/any.bad.yml": "", "internal/api/api_test.go": `filepath.Glob("testdata/*.bad.yml")`,
		"internal/cli/testdata/any.bad.yml": "", "examples/lost.bad.yml": "",
	}, "idle.bad.yml: no test in internal/config", "internal/cli/testdata/any.bad.yml: no test", "examples/lost.bad.yml: a rejected file")
}
