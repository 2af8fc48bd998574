package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var sizeRow = regexp.MustCompile(`(?m)^\| ([0-9,]{6,}) \| ([0-9]+) \| ([0-9.]+ MiB) \| ([0-9.]+ MiB: [0-9]+ outbound address(?:es)?) \|$`)

// The guide's table of sizes is what `tune` says.
func TestCapacityPageSaysWhatTuneDoes(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := sizeRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 4 {
		t.Errorf("%d rows were compared", len(rows))
	}
	for _, row := range rows {
		said := execute(t.Context(), "tune", "--sessions", strings.ReplaceAll(row[1], ",", "")).stdout
		for _, want := range []string{"  capacity: " + row[2] + "\n", "realmgate  " + row[3] + ": 1 outbound address", "   " + row[4] + "\n"} {
			if !strings.Contains(said, want) {
				t.Errorf("of %s sessions tune does not say %q:\n%s", row[1], want, said)
			}
		}
	}
}
