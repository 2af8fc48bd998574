package repo

import (
	"path"
	"regexp"
	"slices"
	"testing"
)

var packageComment = regexp.MustCompile(`(?m)^(// (Package|Command|Realmgate|The) [^\n]+\n(//[^\n]*\n)*|/\*\n?(Package|Command) (.|\n)*?\*/\n)package `)

// checkDoc wants a doc.go with a package comment in every folder that has Go
// files: purpose, the state it owns, concurrency.
func checkDoc(r tree) []string {
	var problems, seen []string
	for _, file := range r.match(suffix(".go")) {
		dir := path.Dir(file)
		if slices.Contains(seen, dir) {
			continue
		}
		seen = append(seen, dir)
		text, ok := r.read(path.Join(dir, "doc.go"))
		switch {
		case !ok:
			problems = append(problems, dir+": no doc.go: write one with the package's purpose, state and concurrency")
		case !packageComment.MatchString(text):
			problems = append(problems, dir+"/doc.go: no package comment right above the package clause")
		}
	}
	return problems
}

func TestPackageDoc(t *testing.T) {
	t.Parallel()
	upholds(t, checkDoc)
}

func TestPackageDocCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkDoc, map[string]string{
		"internal/good/doc.go":    "// Package good is documented.\n//\n// It keeps no state.\npackage good\n",
		"internal/good/good.go":   "package good\n",
		"internal/silent/doc.go":  "package silent\n",
		"internal/apart/doc.go":   "// Package apart has a gap.\n\npackage apart\n",
		"internal/bare/bare.go":   "// Package bare has no doc.go.\npackage bare\n",
		"cmd/realmgate/doc.go":    "// Command realmgate starts things.\npackage main\n",
		"bpf/gateway.bpf.c":       "",
		"test/only/case_test.go":  "package only\n",
		"docs/not-a-package.html": "",
	}, "internal/silent/doc.go: no package comment", "internal/apart/doc.go: no package comment",
		"internal/bare: no doc.go", "test/only: no doc.go")
}
