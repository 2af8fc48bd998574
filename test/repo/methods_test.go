package repo

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostMethods is how many a type may have that is not a test's own.
const mostMethods = 25

var receiver = regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)(?:\[[^\]]*\])?\) `)

func checkMethods(r tree) []string {
	methods := map[string]int{}
	for _, file := range r.match(suffix(".go")) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, _ := r.read(file)
		if generated.MatchString(text) {
			continue
		}
		for _, m := range receiver.FindAllStringSubmatch(text, -1) {
			methods[path.Dir(file)+": "+m[1]]++
		}
	}
	var problems []string
	for name, n := range methods {
		if n > mostMethods {
			problems = append(problems, fmt.Sprintf("%s has %d methods, the budget is %d: split it by what it is about", name, n, mostMethods))
		}
	}
	slices.Sort(problems)
	return problems
}

func TestTypesAreSmall(t *testing.T) {
	t.Parallel()
	upholds(t, checkMethods)
}

func TestTypesAreSmallCanFail(t *testing.T) {
	t.Parallel()
	many := func(receiver string, n int) string { return strings.Repeat("func ("+receiver+") a() {}\n", n) }
	rejects(t, checkMethods, map[string]string{
		"internal/a/a.go":      "package a\n" + many("d *Draft", mostMethods) + many("s set[T]", mostMethods),
		"internal/a/b.go":      "package a\n" + many("Draft", 1),
		"internal/b/b.go":      "package b\n" + many("d *Draft", 1),
		"test/lab/a.go":        "package lab\n" + many("s *set[K, V]", mostMethods+1),
		"internal/a/a_test.go": many("d *Draft", mostMethods+1),
	}, "internal/a: Draft has 26 methods", "test/lab: set has 26 methods")
}
