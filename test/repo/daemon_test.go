package repo

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The daemon only joins rooms: what it grows beyond is a feature that has no room.
const (
	daemonLines   = 1800
	daemonMethods = 25 // of a type
)

var receiver = regexp.MustCompile(`(?m)^func \(\w+ \*?(\w+)\) `)

func checkDaemon(r tree) []string {
	all, methods := 0, map[string]int{}
	for _, file := range r.match(suffix(".go")) {
		name := path.Base(file)
		if path.Dir(file) != "internal/daemon" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, _ := r.read(file)
		all += strings.Count(text, "\n")
		for _, m := range receiver.FindAllStringSubmatch(text, -1) {
			methods[m[1]]++
		}
	}
	var problems []string
	if all > daemonLines {
		problems = append(problems, fmt.Sprintf("internal/daemon: %d lines, the budget is %d: give the feature a room", all, daemonLines))
	}
	for name, n := range methods {
		if n > daemonMethods {
			problems = append(problems, fmt.Sprintf("internal/daemon: %s has %d methods, the budget is %d: split it by what it is about", name, n, daemonMethods))
		}
	}
	slices.Sort(problems)
	return problems
}

func TestDaemonOnlyJoins(t *testing.T) {
	t.Parallel()
	upholds(t, checkDaemon)
}

func TestDaemonOnlyJoinsCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkDaemon, map[string]string{
		"internal/daemon/a.go":      "package daemon\n" + strings.Repeat("\n", daemonLines) + strings.Repeat("func (d *Daemon) a() {}\n", daemonMethods+1),
		"internal/daemon/a_test.go": strings.Repeat("\n", daemonLines),
	}, "internal/daemon: 1827 lines", "internal/daemon: Daemon has 26 methods")
}
