package api

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The reference has each request with its role, and each type of problem.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `GET /") || strings.HasPrefix(line, "| `POST /") {
			rows++
		}
	}
	for _, r := range Routes() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", r.pattern(), r.Role, r.Short); !strings.Contains(string(text), row) {
			t.Errorf("the reference lacks %s", row)
		}
	}
	if want := len(Routes()); rows != want {
		t.Errorf("the reference has %d requests, there are %d", rows, want)
	}
	for kind := range titles {
		if heading := "\n### " + strings.TrimPrefix(kind, typeBase) + "\n"; !strings.Contains(string(text), heading) {
			t.Errorf("the reference lacks %q", heading)
		}
	}
}
