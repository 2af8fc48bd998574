package page

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write assets/reasons.js anew")

var (
	reasonRow = regexp.MustCompile("(?m)^\\| `(drop_[a-z0-9_]+)` \\| (.*?) \\| (.*?) \\|$")
	linked    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// What the page says of a reason is what the reference says.
func TestReasons(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/counters.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := func(s string) string { return strings.ReplaceAll(linked.ReplaceAllString(s, "$1"), "`", "") }
	made := "// Why packets are dropped, and what to do. Made by TestReasons of docs/reference/counters.md.\nexport const reasons = {\n"
	rows := reasonRow.FindAllStringSubmatch(string(text), -1)
	for _, row := range rows {
		words, err := json.Marshal([]string{plain(row[2]), plain(row[3])})
		if err != nil {
			t.Fatal(err)
		}
		made += row[1] + ": " + string(words) + ",\n"
	}
	made += "};\n"
	if len(rows) < 20 {
		t.Fatalf("the reference has %d rows", len(rows))
	}
	const name = "assets/reasons.js"
	if *update {
		if err := os.WriteFile(name, []byte(made), 0o644); err != nil { //nolint:gosec // everybody may read it
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(name); err != nil || string(have) != made {
		t.Errorf("%s is not what the reference says: run go test ./internal/page -run TestReasons -update: %v", name, err)
	}
}
