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
	fresh := t.TempDir()
	if err := publish(fresh, Papers(), e); err != nil {
		t.Fatal(err)
	}
	want, got := documents(t, fresh), documents(t, results)
	for name, document := range want {
		if got[name] == "" {
			t.Errorf("%s is not there", name)
			continue
		}
		wanted, lines := strings.Split(document, "\n"), strings.Split(got[name], "\n")
		for i, line := range lines {
			if i >= len(wanted) || line != wanted[i] {
				t.Errorf("line %d of %s is not what the reports give (go test ./internal/lab/bench/reproduce -update):\n%s\nbut\n%s", i+1, name, line, wanted[min(i, len(wanted)-1)])
				break
			}
		}
	}
	for name := range got {
		if want[name] == "" && !handWritten[name] {
			t.Errorf("no report gives %s: remove it", name)
		}
	}
}

// Every report is there, and all are of one build on one machine.
func TestPublishedReportsAreOfOneBuild(t *testing.T) {
	t.Parallel()
	e := published(t)
	first := Jobs(Papers())[0].Name
	for _, job := range Jobs(Papers()) {
		r, there := e[job.Name]
		if !there {
			t.Errorf("there is no report of %s", job.Name)
			continue
		}
		if other := unlike(r.Environment, e[first].Environment); len(other) > 0 {
			t.Errorf("%s and %s differ: %s", first, job.Name, strings.Join(other, "; "))
		}
	}
}

// handWritten are pages that tell of measurements of other kinds.
var handWritten = map[string]bool{"README.md": true, "clients.md": true}

// documents are the files of a folder of results, by name.
func documents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(text)
	}
	return all
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
