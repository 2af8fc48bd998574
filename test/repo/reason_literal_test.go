package repo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var reasonLiteral = regexp.MustCompile(`"((?:drop|answered|forwarded)_[a-z0-9_]+)"`)

// checkReasonLiterals wants what code calls a reason to be one.
func checkReasonLiterals(r tree) []string {
	header, ok := r.read(reasonHeader)
	if !ok {
		return []string{reasonHeader + ": missing"}
	}
	known := reasons(header)
	var problems []string
	for _, name := range r.files {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_bpfel.go") {
			continue
		}
		content, _ := r.read(name)
		for _, m := range reasonLiteral.FindAllStringSubmatch(content, -1) {
			if !slices.Contains(known, m[1]) {
				problems = append(problems, fmt.Sprintf("%s: %s is no reason of %s", name, m[1], reasonHeader))
			}
		}
	}
	slices.Sort(problems)
	return problems
}

func TestReasonLiterals(t *testing.T) {
	t.Parallel()
	upholds(t, checkReasonLiterals)
}

func TestReasonLiteralsCanFail(t *testing.T) {
	t.Parallel()
	header := "enum reason {\n\tREASON_DROP_BUSY,\n};\n"
	rejects(t, checkReasonLiterals, map[string]string{
		reasonHeader: header, "a.go": "package a\n\nconst a, b = \"drop_busy\", \"drop_" + "bussy\"\n",
	}, "a.go: drop_bussy is no reason of "+reasonHeader)
	rejects(t, checkReasonLiterals, nil, reasonHeader+": missing")
}
