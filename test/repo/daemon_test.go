package repo

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// The daemon only joins rooms: what it grows beyond is a feature that has no room.
const daemonLines = 1800

func checkDaemon(r tree) []string {
	all := 0
	for _, file := range r.match(suffix(".go")) {
		if path.Dir(file) == "internal/daemon" && !strings.HasSuffix(file, "_test.go") {
			text, _ := r.read(file)
			all += strings.Count(text, "\n")
		}
	}
	if all > daemonLines {
		return []string{fmt.Sprintf("internal/daemon: %d lines, the budget is %d: give the feature a room", all, daemonLines)}
	}
	return nil
}

func TestDaemonOnlyJoins(t *testing.T) {
	t.Parallel()
	upholds(t, checkDaemon)
}

func TestDaemonOnlyJoinsCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkDaemon, map[string]string{
		"internal/daemon/a.go":      "package daemon\n" + strings.Repeat("\n", daemonLines),
		"internal/daemon/a_test.go": strings.Repeat("\n", daemonLines),
	}, "internal/daemon: 1801 lines")
}
