package repo

import (
	"fmt"
	"strings"
	"testing"
)

const (
	reproduction   = "docs/results/reproduction.md"
	summaryHeading = "## What was measured"
)

// checkSummary wants the table of figures that the README shows to be the one of
// the reproduction, line by line, with its plot.
func checkSummary(r tree) []string {
	readme, _ := r.read("README.md")
	page, _ := r.read(reproduction)
	_, section, ok := strings.Cut(readme, summaryHeading+"\n")
	if !ok {
		return []string{"README.md: there is no " + summaryHeading}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	published := map[string]bool{}
	for line := range strings.Lines(page) {
		published[strings.TrimSpace(line)] = true
	}
	var problems []string
	rows := 0
	for line := range strings.Lines(section) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "|") {
			continue
		}
		if rows++; !published[line] {
			problems = append(problems, fmt.Sprintf("README.md: not in %s: %s; copy its summary again", reproduction, line))
		}
	}
	if rows == 0 {
		problems = append(problems, "README.md: no table under "+summaryHeading)
	}
	if !strings.Contains(section, "](docs/results/cost.svg)") {
		problems = append(problems, "README.md: no plot under "+summaryHeading)
	}
	return problems
}

func TestSummary(t *testing.T) {
	t.Parallel()
	upholds(t, checkSummary)
}

func TestSummaryCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkSummary, map[string]string{"README.md": "# Other\n"}, "there is no ## What was measured")
	rejects(t, checkSummary, map[string]string{"README.md": "## What was measured\nNothing.\n"}, "no table", "no plot")
	rejects(t, checkSummary, map[string]string{
		"README.md":  "## What was measured\n| a | 1 |\n| b | 2 |\n\n![costs](docs/results/cost.svg)\n\n## Next\n| c | 3 |\n",
		reproduction: "| a | 1 |\n| b | 3 |\n",
	}, "| b | 2 |")
}
