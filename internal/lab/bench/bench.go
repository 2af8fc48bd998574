package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// runDirectory is for what only lives while a measurement runs.
const runDirectory = "/run/realmgate"

// ErrNotRoot says in a line what measuring needs.
var ErrNotRoot = errors.New("measuring needs root, for network namespaces and for programs in the kernel: run it with sudo")

// Scenario is something that can be measured.
type Scenario struct {
	Name    string
	About   string   // one line
	Devices []string // unless others are asked for; null is a control and always there
	Modes   []Mode   // the first is the default; none where no traffic is sent
	NoRoot  bool     // it only computes
	// External says that a box will do into whose table nobody can look, and Emptied that
	// each trial wants it to be empty.
	External, Emptied bool
	// Captured says that it wants Options.Capture.
	Captured bool
	// Directed and Rated say that Options.Direction, and Options.Rate, change what is sent.
	Directed, Rated bool
	// Sessions and Repeat are what suits it; 0 is as for all others.
	Sessions, Repeat int
	// Model, if there is one, adds what can be computed without measuring.
	Model func(b *Bench) error
	Run   func(ctx context.Context, b *Bench) error
}

// Bench is a run of one scenario.
type Bench struct {
	Options
	Report Report
	Host   *Host

	lab       *netns.Lab
	directory string
	lock      *os.File
	beds      int
	sweeps    int // that were begun
	done      int
	total     int
}

// Run runs a scenario and returns its report. A run that fails or is interrupted
// (ctx ended) returns what it has, beside the error; Report.Incomplete says why.
// Everything is put back in any case.
func Run(ctx context.Context, s Scenario, o Options) (report Report, err error) {
	b := &Bench{Options: o}
	if b.Report, err = begin(s, o); err != nil {
		return b.Report, err
	}
	if o.ModelOnly {
		return b.Report, s.Model(b)
	}
	if !s.NoRoot {
		defer func() { err = errors.Join(err, b.close()) }()
		if err := b.open(ctx); err != nil {
			return b.Report, err
		}
	}
	// It may have waited for another, which had its own settings.
	b.Report.Started = time.Now().UTC()
	if b.Report.Environment, err = ReadEnvironment(); err != nil {
		return b.Report, err
	}
	err = s.Run(ctx, b)
	b.Report.Seconds = time.Since(b.Report.Started).Seconds()
	switch {
	case err != nil && ctx.Err() != nil:
		// Whatever it was that failed, it failed because of this.
		b.Report.Incomplete = "interrupted"
		err = errors.Join(ctx.Err(), err)
	case err != nil:
		b.Report.Incomplete = err.Error()
	}
	return b.Report, err
}

func begin(s Scenario, o Options) (Report, error) {
	r := Report{
		Schema: Schema, Scenario: s.Name, About: s.About, Command: o.Command,
		Started: time.Now().UTC(), Options: o.describe(s), Notes: []string{},
		Devices: []string{}, Control: o.Null.Name, Results: []Result{}, Ratios: []Ratio{},
	}
	for _, m := range o.Devices {
		r.Devices = append(r.Devices, m.Name)
	}
	if err := o.Check(); err != nil {
		return r, err
	}
	if o.ModelOnly && s.Model == nil {
		return r, fmt.Errorf("%s has no model: run it without --model-only", s.Name)
	}
	if len(s.Modes) > 0 && !slices.Contains(s.Modes, o.Mode) {
		return r, fmt.Errorf("%s cannot be measured in the set-up %q: use %q", s.Name, o.Mode, s.Modes)
	}
	var err error
	if r.Environment, err = ReadEnvironment(); err != nil {
		return r, err
	}
	if len(s.Modes) > 0 && !o.ModelOnly { // it sends traffic
		r.Notes = append(r.Notes, r.Environment.Compliance(o))
	}
	return r, nil
}

func (b *Bench) open(ctx context.Context) (err error) {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	if err := wantTools(b.Devices); err != nil {
		return err
	}
	if b.lock, err = lock(ctx, filepath.Join(runDirectory, "bench.lock"), b.tell); err != nil {
		return err
	}
	if b.Host, err = openHost(filepath.Join(runDirectory, "bench-host.json")); err != nil {
		return err
	}
	if b.lab, err = netns.New("bench"); err != nil {
		return err
	}
	if err := removeLeftovers(); err != nil {
		return err
	}
	b.directory = filepath.Join(runDirectory, b.lab.ID())
	if err := os.MkdirAll(b.directory, 0o700); err != nil {
		return fmt.Errorf("make the measurement's folder: %w", err)
	}
	return nil
}

func (b *Bench) close() error {
	var failed error
	if b.lab != nil {
		failed = errors.Join(failed, b.lab.Close())
	}
	if b.Host != nil {
		failed = errors.Join(failed, b.Host.Restore())
	}
	if b.directory != "" {
		failed = errors.Join(failed, removeLeftovers())
	}
	if b.lock != nil {
		failed = errors.Join(failed, b.lock.Close())
	}
	return failed
}

// Note adds a line that a reader of the report must know.
func (b *Bench) Note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(b.Report.Notes, note) {
		b.Report.Notes = append(b.Report.Notes, note)
	}
}

// tell says what is being done now.
func (b *Bench) tell(what string) {
	if b.Progress != nil {
		b.Progress(Progress{Done: b.done, Total: b.total, What: what})
	}
}

// Expect says how many trials are still to come, for the progress that is shown.
func (b *Bench) Expect(trials int) { b.total = b.done + trials }
