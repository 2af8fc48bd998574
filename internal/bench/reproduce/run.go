package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/realmgate/realmgate/internal/bench"
	"github.com/realmgate/realmgate/internal/bench/report"
)

// Measure runs a job.
type Measure func(context.Context, Job) (bench.Report, error)

// Jobs lists what the findings need, each once.
func Jobs(papers []Paper) (jobs []Job) {
	known := map[string]bool{}
	for _, p := range papers {
		for _, f := range p.Findings {
			for _, job := range f.Needs {
				if !known[job.Name] {
					known[job.Name] = true
					jobs = append(jobs, job)
				}
			}
		}
	}
	return jobs
}

// Run measures what has no report in folder/raw yet, writes each when it is done,
// and then the page. A job that fails is told and left out; the page then says
// that it is missing.
func Run(ctx context.Context, papers []Paper, folder string, measure Measure, tell func(string)) error {
	var failed error
	e := Evidence{}
	jobs := Jobs(papers)
	for i, job := range jobs {
		at := filepath.Join(folder, "raw", job.Name)
		r, err := report.Read(filepath.Join(at, "result.json"))
		if err == nil && measured(r) {
			e[job.Name] = r
			continue
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		tell(fmt.Sprintf("%d of %d: %s", i+1, len(jobs), job.Name))
		if r, err = measure(ctx, job); err == nil {
			err = report.Write(at, r)
		}
		if errors.Is(err, bench.ErrNotRoot) || errors.Is(err, os.ErrPermission) {
			return err
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", job.Name, err))
			continue
		}
		e[job.Name] = r
	}
	return errors.Join(failed, write(filepath.Join(folder, "reproduction.md"), papers, e))
}

// measured reports whether a report has anything valid: one that was disturbed all
// the time is made again.
func measured(r bench.Report) bool {
	return slices.ContainsFunc(r.Results, func(result bench.Result) bool { return !math.IsNaN(float64(result.Median)) })
}

func write(path string, papers []Paper, e Evidence) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return Page(file, papers, e)
}
