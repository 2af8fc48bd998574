package reproduce

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

var here = bench.Environment{Tool: "abc123", Kernel: "6.18", CPU: "a processor", CPUs: 2, MemoryBytes: 24 << 30}

// reportFor is what a job gives on a machine.
func reportFor(job Job, env bench.Environment) bench.Report {
	r := reportOf(resultOf("iptables", "rate", 100, narrow, nil))
	direction := job.Direction
	if direction == "" {
		direction = "both"
	}
	r.Schema, r.Scenario, r.Devices, r.Environment = bench.Schema, job.Scenario, job.Devices, env
	r.Options = map[string]string{"sessions": number(job.Sessions), "hosts": number(max(job.Hosts, 1)), "repeat": number(job.Repeat), "direction": direction, "profile": "quick"}
	r.Started = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return r
}

// reproduction is a folder with a report of each job, and what a run makes of it.
type reproduction struct {
	folder string
	done   []string // jobs that were measured
	told   string
}

func newReproduction(t *testing.T, except string) *reproduction {
	t.Helper()
	r := &reproduction{folder: t.TempDir()}
	for _, job := range Jobs(Papers()) {
		if job.Name != except {
			r.put(t, job, reportFor(job, here))
		}
	}
	return r
}

func (r *reproduction) put(t *testing.T, job Job, made bench.Report) {
	t.Helper()
	if err := report.Write(filepath.Join(r.folder, "raw", job.Name), made); err != nil {
		t.Fatal(err)
	}
}

func (r *reproduction) run(measure Measure) error {
	noted := func(ctx context.Context, job Job) (bench.Report, error) {
		r.done = append(r.done, job.Name)
		return measure(ctx, job)
	}
	return run(context.Background(), bench.Quick, Papers(), r.folder, here, noted, func(text string) { r.told += text + "\n" })
}

func (r *reproduction) page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, "reproduction.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func measureHere(_ context.Context, job Job) (bench.Report, error) { return reportFor(job, here), nil }

func TestRunMeasuresWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := newReproduction(t, hashLoad.Name)
	if err := r.run(measureHere); err != nil {
		t.Fatal(err)
	}
	if len(r.done) != 1 || r.done[0] != hashLoad.Name {
		t.Errorf("measured %v", r.done)
	}
	r.done = nil
	if err := r.run(measureHere); err != nil || len(r.done) > 0 {
		t.Errorf("measured %v again: %v", r.done, err)
	}
	if page := r.page(t); strings.Contains(page, "Warning") || !strings.Contains(page, "Measured 2026-11-21 with Realmgate abc123 on hardware: a processor, 2 CPUs, 24 GiB, Linux 6.18.") {
		t.Error(page[:min(len(page), 1500)])
	}
}

// A report of another program, machine or job, or without a valid trial, is told and
// made anew.
func TestRunMeasuresAgainWhatDoesNotBelong(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*bench.Report){
		"program def456 instead of abc123":       func(r *bench.Report) { r.Environment.Tool = "def456" },
		"Linux 6.1 instead of hardware":          func(r *bench.Report) { r.Environment.Kernel = "6.1" },
		"another processor, 2 CPUs":              func(r *bench.Report) { r.Environment.CPU = "another processor" },
		"mitigations":                            func(r *bench.Report) { r.Environment.Mitigations = map[string]string{"meltdown": "Vulnerable"} },
		"sessions 50000 instead of 1000000":      func(r *bench.Report) { r.Options["sessions"] = "50000" },
		"repeat 1 instead of 5":                  func(r *bench.Report) { r.Options["repeat"] = "1" },
		"devices iptables instead of realmgate,": func(r *bench.Report) { r.Devices = []string{"iptables"} },
		"profile paper instead of quick":         func(r *bench.Report) { r.Options["profile"] = "paper" },
		"direction both instead of forward":      func(r *bench.Report) { r.Options["direction"] = "both" },
		"ended early: interrupted":               func(r *bench.Report) { r.Incomplete = "interrupted" },
		"no valid trial": func(r *bench.Report) {
			for i := range r.Results[0].Trials {
				r.Results[0].Trials[i].Invalid = "steal"
			}
		},
	} {
		r := newReproduction(t, "")
		old := reportFor(forward, here)
		change(&old)
		r.put(t, forward, old)
		if err := r.run(measureHere); err != nil {
			t.Fatal(err)
		}
		if len(r.done) != 1 || r.done[0] != forward.Name || !strings.Contains(r.told, "measured again: "+forward.Name+" (") || !strings.Contains(r.told, what) {
			t.Errorf("%s: measured %v, told %q", what, r.done, r.told)
		}
	}
}

// Where it cannot be measured again, the page has the old report and warns.
func TestPageWarnsOfWhatDoesNotBelong(t *testing.T) {
	t.Parallel()
	r := newReproduction(t, memory.Name)
	old := reportFor(hashLoad, here)
	old.Environment.Tool = "def456"
	r.put(t, hashLoad, old)
	err := r.run(func(context.Context, Job) (bench.Report, error) { return bench.Report{}, bench.ErrNotRoot })
	if !errors.Is(err, bench.ErrNotRoot) {
		t.Errorf("%v", err)
	}
	if page := r.page(t); strings.Count(page, "**Warning**") != 1 || !strings.Contains(page, "[hash-load](raw/hash-load/result.json) does not belong to the others: program def456 instead of abc123.") {
		t.Error(page[:min(len(page), 1500)])
	}
}

func TestRunWithoutRootAndReportsWritesNoPage(t *testing.T) {
	t.Parallel()
	r := &reproduction{folder: t.TempDir()}
	if err := r.run(func(context.Context, Job) (bench.Report, error) { return bench.Report{}, bench.ErrNotRoot }); !errors.Is(err, bench.ErrNotRoot) || len(r.done) != 1 {
		t.Errorf("%v after %v", err, r.done)
	}
	if _, err := os.Stat(filepath.Join(r.folder, "reproduction.md")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a page: %v", err)
	}
}

// A job that was measured otherwise than it asks for is a failure, and no report.
func TestRunRefusesWhatWasMeasuredOtherwise(t *testing.T) {
	t.Parallel()
	r := newReproduction(t, reverse.Name)
	err := r.run(func(context.Context, Job) (bench.Report, error) { return reportFor(forward, here), nil })
	if err == nil || !strings.Contains(err.Error(), "direction forward instead of reverse") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(r.folder, "raw", reverse.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was kept: %v", err)
	}
}

// An interrupted run keeps the reports that come after.
func TestInterruptedRunKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	r := newReproduction(t, establish.Name)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx, bench.Quick, Papers(), r.folder, here, measureHere, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if page := r.page(t); strings.Contains(page, "no valid report of hash-load") || !strings.Contains(page, "no valid report of nat44-establish") {
		t.Error(page)
	}
}

// Two programs that were built from changed files may differ and have one name.
func TestPageTellsOfARevisionThatIsNone(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]bool{"abc123": false, "abc123-dirty": true, "devel": true} {
		r := reportFor(memory, here)
		r.Environment.Tool = tool
		if text := provenance([]Job{memory}, Evidence{memory.Name: r}); strings.Contains(text, "does not tell which program") != want {
			t.Errorf("%s: %s", tool, text)
		}
	}
}
