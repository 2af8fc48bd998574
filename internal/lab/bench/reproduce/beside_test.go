package reproduce

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

// beside is a table of a page that a report of docs/results/beside gives: devices beside each other, metric by metric.
type beside struct {
	name    string // of the report
	devices []string
	metrics []besideMetric
}

// besideMetric is a line of one. Values are divided by the scale.
type besideMetric struct {
	name, says string
	scale      float64
}

var besides = []beside{
	{"web-names", []string{"realmgate-tcx", "nginx", "haproxy", "splice", "realmgate-nat-tcx", "nftables", "route"}, ofWebNames},
	{"web-names-xdp", []string{"realmgate", "nginx", "haproxy", "splice", "realmgate-nat", "nftables", "route"}, ofWebNames},
	{
		"ask", []string{"realmgate-ask", "nfqueue", "nfqueue-each", "realmgate", "iptables"},
		[]besideMetric{
			{"flow", "a flow of 100 packets, µs", 1e3},
			{"cost", "its first packet, under load, µs", 1e3},
			{"cost_alone", "the same, one flow at a time, µs", 1e3},
			{"cost_later", "each later packet, ns", 1},
		},
	},
}

var ofWebNames = []besideMetric{
	{"connections", "connections, 1,000/s", 1e3},
	{"first_byte_p50", "first octet at 500/s, median, µs", 1},
	{"first_byte_p99", "the same, p99, ms", 1e3},
	{"throughput_1", "one download, Gbit/s", 1},
	{"throughput_100", "100 downloads, Gbit/s", 1},
	{"cpu_1", "CPU of the machine, one download, s/GB", 1},
	{"cpu_100", "the same, 100 downloads", 1},
	{"flood", "forged SYNs that one CPU could send, 1,000/s", 1e3},
	{"fetches_flooded", "connections beside them, 1,000/s", 1e3},
	{"late_flooded", "of these without an answer in a second, 1/s", 1},
}

func (b beside) file() string { return filepath.Join(results, "beside", b.name, "result.json") }

// table is it in Markdown: medians, with the least and the greatest.
func (b beside) table(r bench.Report) string {
	var text strings.Builder
	fmt.Fprintf(&text, "| | %s |\n|%s\n", strings.Join(b.devices, " | "), strings.Repeat(" --- |", len(b.devices)+1))
	for _, m := range b.metrics {
		fmt.Fprintf(&text, "| %s |", m.says)
		for _, device := range b.devices {
			text.WriteString(" " + valueOf(r, device, m) + " |")
		}
		text.WriteString("\n")
	}
	return text.String()
}

func valueOf(r bench.Report, device string, m besideMetric) string {
	for _, found := range r.Results {
		if found.DUT == device && found.Metric == m.name {
			digits := func(v float64) string { return strconv.FormatFloat(v/m.scale, 'g', 3, 64) }
			return fmt.Sprintf("%s (%s–%s)", digits(float64(found.Median)), digits(float64(found.P1)), digits(float64(found.P99)))
		}
	}
	return "–"
}

// Each table of devices beside each other is what its report gives, whole and of an undisturbed run.
func TestPublishedTablesBesideOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(results, "README.md")
	octets, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(octets)
	for _, b := range besides {
		r, err := report.Read(b.file())
		if err != nil {
			t.Fatal(err)
		}
		if r.Scenario != b.name || r.Incomplete != "" {
			t.Errorf("%s is of %s, %s", b.file(), r.Scenario, r.Incomplete)
		}
		begin, end := "<!-- beside/"+b.name+" -->\n", "<!-- end -->\n"
		before, rest, found := strings.Cut(page, begin)
		got, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("README.md has no place for the table of %s: %s%s", b.name, begin, end)
		}
		want := b.table(r)
		if *update {
			page = before + begin + want + end + after
		} else if got != want {
			t.Errorf("the table of %s is not what its report gives (go test ./internal/lab/bench/reproduce -update):\n%s\nbut\n%s", b.name, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	}
}
