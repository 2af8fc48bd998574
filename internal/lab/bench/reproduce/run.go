package reproduce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

// Measure runs a job.
type Measure func(context.Context, Job) (bench.Report, error)

// Jobs lists what the findings and the summary need, each once.
func Jobs(papers []Paper) (jobs []Job) {
	known := map[string]bool{}
	add := func(needs []Job) {
		for _, job := range needs {
			if !known[job.Name] {
				known[job.Name] = true
				jobs = append(jobs, job)
			}
		}
	}
	add(summaryJobs)
	for _, p := range papers {
		for _, f := range p.Findings {
			add(f.Needs)
		}
	}
	return jobs
}

// Run measures what has no report in folder/raw yet, writes each when it is done,
// and then the page. A report that another program or machine made, or that is not
// what its job asks for, is told and measured again. A job that fails is told and
// left out, unless it has such a report, of which the page warns.
func Run(ctx context.Context, profile bench.Profile, papers []Paper, folder string, measure Measure, tell func(string)) error {
	here, err := bench.ReadEnvironment()
	if err != nil {
		return err
	}
	return run(ctx, profile, papers, folder, here, measure, tell)
}

func run(ctx context.Context, profile bench.Profile, papers []Paper, folder string, here bench.Environment, measure Measure, tell func(string)) error {
	jobs := Jobs(papers)
	for i := range jobs {
		jobs[i].Profile = profile
	}
	e, due, failed := old(jobs, folder, here, tell)
	if failed != nil {
		return failed
	}
	for i, job := range due {
		if ctx.Err() != nil {
			break
		}
		tell(fmt.Sprintf("%d of %d: %s", i+1, len(due), job.Name))
		r, err := made(ctx, job, folder, measure)
		if errors.Is(err, bench.ErrNotRoot) && len(e) > 0 {
			failed = errors.Join(failed, err)
			break
		}
		if errors.Is(err, bench.ErrNotRoot) || errors.Is(err, os.ErrPermission) {
			return err
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", job.Name, err))
			continue
		}
		if e[job.Name] = r; !measured(r) {
			tell(fmt.Sprintf("%s has no valid trial%s", job.Name, whyInvalid(r)))
		}
	}
	return errors.Join(failed, publish(folder, papers, e))
}

// old reads the reports that are there, and lists the jobs that are to be done.
func old(jobs []Job, folder string, here bench.Environment, tell func(string)) (e Evidence, due []Job, err error) {
	e = Evidence{}
	var reasons []string
	again := map[string][]string{} // jobs by the reason
	defer func() {
		for _, why := range reasons {
			tell(fmt.Sprintf("measured again: %s (%s)", strings.Join(again[why], ", "), why))
		}
	}()
	for _, job := range jobs {
		r, err := report.Read(filepath.Join(folder, "raw", job.Name, "result.json"))
		if errors.Is(err, os.ErrNotExist) {
			due = append(due, job)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		e[job.Name] = r
		why := append(unlike(r.Environment, here), job.strayed(r)...)
		if !measured(r) {
			why = append(why, "it has no valid trial")
		}
		if len(why) > 0 {
			text := strings.Join(why, "; ")
			if again[text] == nil {
				reasons = append(reasons, text)
			}
			again[text] = append(again[text], job.Name)
			due = append(due, job)
		}
	}
	return e, due, nil
}

// made measures a job and writes its report.
func made(ctx context.Context, job Job, folder string, measure Measure) (bench.Report, error) {
	r, err := measure(ctx, job)
	if err != nil {
		return r, err
	}
	if why := job.strayed(r); len(why) > 0 {
		return r, fmt.Errorf("measured otherwise than asked: %s", strings.Join(why, "; "))
	}
	return r, report.Write(filepath.Join(folder, "raw", job.Name), r)
}

// publish writes the page, and the plots for which there is enough to draw.
func publish(folder string, papers []Paper, e Evidence) error {
	err := write(filepath.Join(folder, "reproduction.md"), func(w io.Writer) error { return Page(w, papers, e) })
	if plottable(e) {
		err = errors.Join(err, write(filepath.Join(folder, "cost.svg"), func(w io.Writer) error { return Plot(w, e) }))
	}
	if chains := e[chaining.Name]; len(chains.Series) > 0 {
		err = errors.Join(err, write(filepath.Join(folder, "chaining.svg"), func(w io.Writer) error { return PlotChain(w, chains) }))
	}
	for _, d := range drawings {
		if d.there(e) {
			err = errors.Join(err, write(filepath.Join(folder, d.file()), func(w io.Writer) error { return d.draw(w, e) }))
		}
	}
	return err
}

func write(path string, content func(io.Writer) error) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the reproduction: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return content(file)
}
