package reproduce

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

var update = flag.Bool("update", false, "write docs/results from the reports that are there")

const results = "../../../../docs/results"

// published are the reports of docs/results/raw.
func published(t *testing.T) Evidence {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "raw", "*", "result.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d reports: %v", len(files), err)
	}
	jobs := map[string]bool{}
	for _, job := range Jobs(Papers()) {
		jobs[job.Name] = true
	}
	e := Evidence{}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		r, err := report.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if !jobs[name] {
			t.Errorf("%s is a report that nothing needs: remove it", file)
		}
		e[name] = r
	}
	return e
}

func pageOf(t *testing.T, e Evidence) []string {
	t.Helper()
	var page bytes.Buffer
	if err := Page(&page, Papers(), e); err != nil {
		t.Fatal(err)
	}
	return strings.Split(page.String(), "\n")
}

// Each verdict, figure and line of the published page is what its raw reports give.
func TestPublishedPageIsWhatItsReportsGive(t *testing.T) {
	t.Parallel()
	e := published(t)
	if *update {
		if err := publish(results, Papers(), e); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(results, "reproduction.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := pageOf(t, e)
	for i, line := range strings.Split(string(text), "\n") {
		if i >= len(got) || line != got[i] {
			t.Fatalf("line %d of reproduction.md is not what the reports give (go test ./internal/lab/bench/reproduce -update):\n%s\nbut\n%s", i+1, line, got[min(i, len(got)-1)])
		}
	}
	for _, d := range drawings {
		if !d.there(e) {
			continue
		}
		var svg bytes.Buffer
		if err := report.SVG(&svg, d.drawn(e), d.plot); err != nil {
			t.Fatal(err)
		}
		if published, err := os.ReadFile(filepath.Join(results, d.file())); err != nil || !bytes.Equal(published, svg.Bytes()) {
			t.Errorf("%s is not what its report gives: %v", d.file(), err)
		}
	}
}

// A report in which one device is ten times as fast gives another page.
func TestPublishedPageDependsOnEachReport(t *testing.T) {
	t.Parallel()
	e := published(t)
	page := strings.Join(pageOf(t, e), "\n")
	for name := range e {
		changed := maps.Clone(e)
		r := changed[name]
		r.Results = append([]bench.Result(nil), r.Results...)
		for i, result := range r.Results {
			r.Results[i].Median *= 10
			r.Results[i].Trials = append([]bench.Trial(nil), result.Trials...)
			for j := range result.Trials {
				r.Results[i].Trials[j].Value *= 10
			}
		}
		changed[name] = r
		if strings.Join(pageOf(t, changed), "\n") == page {
			t.Errorf("the page does not depend on the figures of %s", name)
		}
	}
}
