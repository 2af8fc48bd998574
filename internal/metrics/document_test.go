package metrics

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// document is the reference.
const document = "../../docs/reference/metrics.md"

// The reference has each metric of the page, as the page describes it, and no other.
func TestReferenceMatchesPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for _, m := range metric.All() {
		d := m.Define()
		wanted = append(wanted, row(d.Name, [...]string{"counter", "gauge", "summary"}[d.Kind], d.Labels, d.Help))
	}
	h := newHistograms()
	described := regexp.MustCompile(`fqName: "(\w+)", help: "([^"]*)".*variableLabels: \{([^}]*)\}`)
	for _, c := range []prometheus.Collector{h.claims, h.vec} {
		all := make(chan *prometheus.Desc, 1)
		c.Describe(all)
		text := (<-all).String()
		found := described.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no description in %q", text)
		}
		var labels []string
		if found[3] != "" {
			labels = strings.Split(found[3], ",")
		}
		wanted = append(wanted, row(found[1], "histogram", labels, found[2]))
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `realmgate_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(wanted)
	slices.Sort(got)
	for _, line := range wanted {
		if !slices.Contains(got, line) {
			t.Errorf("%s lacks %s", document, line)
		}
	}
	for _, line := range got {
		if !slices.Contains(wanted, line) {
			t.Errorf("%s has %s, which is not so", document, line)
		}
	}
}

func row(name, kind string, labels []string, help string) string {
	shown := "–"
	if len(labels) > 0 {
		shown = "`" + strings.Join(labels, "`, `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", name, kind, shown, help)
}
