package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/test/lab"
)

// idle is a device that does nothing: here the rounds matter.
type idle struct{}

func (idle) Up(context.Context, *Rig, Setup) error { return nil }
func (idle) Reset(context.Context) error           { return nil }
func (idle) Count(context.Context) (int, error)    { return 0, ErrUnsupported }
func (idle) Memory(context.Context) (int64, error) { return 0, ErrUnsupported }
func (idle) Down() error                           { return nil }
func idleModel(name string) Model                  { return Model{Name: name, New: func() Device { return idle{} }} }
func optionsFor(repeat int, devices ...Model) Options {
	return Options{Devices: devices, Null: idleModel("null"), Sessions: 1000, Hosts: 1, Repeat: repeat, Mode: SelfClocked, Length: 64}
}

// What was measured before an interruption is in the report.
func TestCompareInterrupted(t *testing.T) {
	b := &Bench{Options: optionsFor(5, idleModel("a"), idleModel("b")), lab: lab.New(t, "interrupt"), directory: t.TempDir()}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	flows, _ := FlowsFor(b.Sessions, b.Hosts)
	trials := 0
	err := b.Compare(ctx, Comparison{Flows: flows, Measure: func(ctx context.Context, bed *Bed) ([]Measure, error) {
		if trials++; trials > 10 { // a round that does not count, two that do, and a trial
			interrupt()
			return nil, ctx.Err()
		}
		rate := float64(1000 + trials)
		if bed.DUT.null {
			rate *= 1000
		}
		return []Measure{{Metric: "rate", Unit: PerSecond, Value: rate}}, nil
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	values := map[string]int{}
	for _, r := range b.Report.Results {
		values[r.DUT+" "+r.Metric] = len(r.values())
	}
	if values["a rate"] < 2 || values["b rate"] < 2 || values["null rate"] < 2 || values["a cost"] < 2 || len(b.Report.Ratios) != 2 {
		t.Errorf("%v, %v", values, b.Report.Ratios)
	}
}

// Ctrl-C reaches a tester that goes before all ordinary programs, and everything is
// put back, in the middle of a trial that would take a quarter of an hour.
func TestPacedRunInterrupted(t *testing.T) {
	switch {
	case os.Geteuid() != 0 && os.Getenv("CI") == "":
		t.Skip("measuring needs root")
	case runtime.NumCPU() < 2:
		t.Skip("the paced set-up needs two CPUs")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	o := optionsFor(1, idleModel("a"))
	o.Devices, o.Null.Name, o.Mode, o.CPU = []Model{{Name: "a", New: func() Device { return &nullDevice{} }}}, "", Paced, runtime.NumCPU()-1
	var id, before, during string
	watched := make(chan bool, 1)
	_, err := Run(ctx, Scenario{Name: "x", Modes: []Mode{Paced}, Run: func(ctx context.Context, b *Bench) (err error) {
		id = b.lab.ID()
		if before, err = b.Host.Get(realTimePart); err != nil {
			return err
		}
		flows, _ := FlowsFor(b.Sessions, 1)
		return b.Compare(ctx, Comparison{Flows: flows, Measure: func(ctx context.Context, bed *Bed) ([]Measure, error) {
			during, _ = b.Host.Get(realTimePart)
			go func() {
				watched <- untilPunctual(ctx)
				interrupt()
			}()
			_, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: leastRate * 1000, Rate: leastRate, Random: true}, true)
			return nil, err
		}})
	}}, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !<-watched {
		t.Error("no thread of the tester went before others")
	}
	alone, lockErr := lock(t.Context(), filepath.Join(runDirectory, "bench.lock"), func(string) {}) // what is there now is nobody else's
	if lockErr != nil {
		t.Fatal(lockErr)
	}
	defer func() { _ = alone.Close() }()
	if after, err := readSetting(realTimePart); err != nil || after != before || during == "" {
		t.Errorf("%s is %q before, %q in the run, and %q after, %v", realTimePart, before, during, after, err)
	}
	for _, pattern := range []string{"/run/netns/" + id + "*", runDirectory + "/" + id + "*", runDirectory + "/bench-host.json", "/sys/fs/bpf/realmgate/" + strings.TrimPrefix(id, "rg-") + "*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			record, _ := os.ReadFile(filepath.Join(runDirectory, "bench-host.json"))
			t.Errorf("left: %q, after %v: %s", left, err, record)
		}
	}
}

// untilPunctual waits until a thread of this process goes before ordinary ones.
func untilPunctual(ctx context.Context) bool {
	for ; ctx.Err() == nil; runtime.Gosched() {
		threads, _ := os.ReadDir("/proc/self/task")
		for _, thread := range threads {
			id, _ := strconv.Atoi(thread.Name())
			if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy == unix.SCHED_FIFO {
				return true
			}
		}
	}
	return false
}

// A report says that it is not complete, and why.
func TestRunIncomplete(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	failed := errors.New("the device went away")
	for _, c := range []struct {
		run  func(context.Context, *Bench) error
		err  error
		want string
	}{
		{func(context.Context, *Bench) error { return nil }, nil, ""},
		{func(context.Context, *Bench) error { return failed }, failed, "the device went away"},
		// A command that was killed does not say who was behind it.
		{func(context.Context, *Bench) error { interrupt(); return failed }, context.Canceled, "interrupted"},
	} {
		r, err := Run(ctx, Scenario{Name: "x", NoRoot: true, Run: c.run}, optionsFor(1, idleModel("a")))
		if !errors.Is(err, c.err) || r.Incomplete != c.want {
			t.Errorf("%v, %q: want %v, %q", err, r.Incomplete, c.err, c.want)
		}
		if len(r.Devices) != 1 || r.Devices[0] != "a" || r.Control != "null" {
			t.Errorf("devices %q, control %q", r.Devices, r.Control)
		}
	}
}

// Reports are published: of the boot parameters only those that bear on figures.
func TestBootParameters(t *testing.T) {
	got := bootParameters("console=ttyS0 mitigations=off root=/dev/sda1 isolcpus=1 secret=1 nohz_full=1")
	if got != "mitigations=off isolcpus=1 nohz_full=1" {
		t.Errorf("%q", got)
	}
}
