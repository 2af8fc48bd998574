package repo

import (
	"fmt"
	"regexp"
	"testing"
)

var (
	target   = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	describe = regexp.MustCompile(`(?m)^([a-z][a-z-]*):.*## \S`)
	spoken   = regexp.MustCompile("(?m)(?:^|`|\\$ |exec |run |sudo )make ([a-z][a-z-]*)")
)

// checkTargets wants every target that a page, a script or the CI names to exist
// in the Makefile, and every target to be explained by make help.
func checkTargets(r tree) []string {
	makefile, ok := r.read("Makefile")
	if !ok {
		return []string{"Makefile: missing"}
	}
	var problems []string
	existing, described := map[string]bool{}, map[string]bool{}
	for _, match := range describe.FindAllStringSubmatch(makefile, -1) {
		described[match[1]] = true
	}
	for _, match := range target.FindAllStringSubmatch(makefile, -1) {
		existing[match[1]] = true
		if !described[match[1]] {
			problems = append(problems, fmt.Sprintf("Makefile: %s has no '## what it does' for make help", match[1]))
		}
	}
	for _, file := range r.match(suffix(".md", ".sh", ".ci/run")) {
		text, _ := r.read(file)
		for _, match := range spoken.FindAllStringSubmatch(text, -1) {
			if !existing[match[1]] {
				problems = append(problems, fmt.Sprintf("%s: make %s: there is no such target", file, match[1]))
			}
		}
	}
	return problems
}

func TestTargets(t *testing.T) {
	t.Parallel()
	upholds(t, checkTargets)
}

func TestTargetsCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkTargets, nil, "Makefile: missing")
	rejects(t, checkTargets, map[string]string{
		"Makefile":  "test: build ## run the tests\n\tgo test\nbuild:\n\tgo build\nbin/x: go.mod\n",
		"README.md": "Run `make test`, then `make coffee`; make sure it works.\n",
		".ci/run":   "exec make tests\n",
	}, "build has no", "make coffee", ".ci/run: make tests")
}
