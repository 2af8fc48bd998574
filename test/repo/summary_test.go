package repo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const (
	reproduction     = "docs/results/reproduction.md"
	comparedHeading  = "## Compared with"
	comparedDevices  = "| | The better of iptables and nftables | Realmgate |"
	comparedFigureRE = `[0-9][0-9.,]*[kMG]?(/s| ns| bytes) \([^)]*\)`
)

// checkCompared wants every figure that the README compares with others to be one of the
// reproduction, with its range, and two in each row.
func checkCompared(r tree) []string {
	readme, _ := r.read("README.md")
	page, _ := r.read(reproduction)
	_, section, ok := strings.Cut(readme, comparedHeading+"\n")
	if !ok {
		return []string{"README.md: there is no " + comparedHeading}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var problems []string
	if !strings.Contains(section, "](docs/results/cost.svg)") {
		problems = append(problems, "README.md: no plot under "+comparedHeading)
	}
	_, table, ok := strings.Cut(section, comparedDevices+"\n")
	if !ok {
		return append(problems, "README.md: no table of figures under "+comparedHeading)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	figure := regexp.MustCompile(comparedFigureRE)
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		figures := figure.FindAllString(row, -1)
		if len(figures) != 2 {
			problems = append(problems, fmt.Sprintf("README.md: not two figures with their ranges: %s", row))
		}
		for _, f := range figures {
			if !strings.Contains(page, f) {
				problems = append(problems, fmt.Sprintf("README.md: %s is not in %s", f, reproduction))
			}
		}
	}
	return problems
}

func TestCompared(t *testing.T) {
	t.Parallel()
	upholds(t, checkCompared)
}

func TestComparedCanFail(t *testing.T) {
	t.Parallel()
	plot := "![costs](docs/results/cost.svg)\n\n"
	table := comparedHeading + "\n" + plot + comparedDevices + "\n| --- | --- | --- |\n"
	rejects(t, checkCompared, map[string]string{"README.md": "# Other\n"}, "there is no "+comparedHeading)
	rejects(t, checkCompared, map[string]string{"README.md": comparedHeading + "\nNothing.\n"}, "no table", "no plot")
	rejects(t, checkCompared, map[string]string{"README.md": table + "| a | 5 | 7 |\n"}, "not two figures")
	rejects(t, checkCompared, map[string]string{
		"README.md":  table + "| a | 5 ns (4–6) | 1.2M/s (1M–2M) |\n\n## Next\n| c | 3 |\n",
		reproduction: "| a | 5 ns (4–6) | 1.3M/s (1M–2M) |\n",
	}, "1.2M/s (1M–2M) is not in")
}
