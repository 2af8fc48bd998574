package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Alone makes trials of what no traffic goes through, on the tester's CPU: one that does
// not count, then Repeat that do. A trial gives measures for each of the parameters.
func (b *Bench) Alone(ctx context.Context, m Model, parameters []map[string]float64, trial func(gates *Gates) ([][]Measure, error)) error {
	results := make([]*collector, len(parameters))
	for i, p := range parameters {
		results[i] = newCollector(p)
	}
	bed := newBed(b, m, nil)
	for round := 0; round <= b.Repeat; round++ {
		b.tell(fmt.Sprintf("round %d, %s", round, m.Name))
		for range trialAttempts {
			if err := ctx.Err(); err != nil {
				return err
			}
			measures, err := b.undisturbed(bed.Gates, trial)
			if err != nil {
				return err
			}
			for i := range measures {
				if round > 0 {
					results[i].add(bed, round, measures[i])
				}
			}
			if round == 0 || !bed.Gates.disturbed() {
				break
			}
		}
		b.done++
	}
	for _, c := range results {
		b.finish(Comparison{}, c, nil)
	}
	return nil
}

// undisturbed makes a trial and sees whether it had the CPU.
func (b *Bench) undisturbed(gates *Gates, trial func(gates *Gates) ([][]Measure, error)) (measures [][]Measure, err error) {
	gates.begin()
	stolen := stealWatch{cpus: []int{b.CPU}}
	stolen.begin()
	err = b.onCPU(func() (err error) {
		measures, err = trial(gates)
		return err
	})
	stolen.end()
	if !b.Smoke {
		gates.Require("steal", stolen.share() <= mostStolen, "%.0f %% of a CPU's time was stolen", 100*stolen.share())
	}
	return measures, err
}

// onCPU runs f on a thread that stays on the tester's CPU.
func (b *Bench) onCPU(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	only.Set(b.CPU)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("run on CPU %d: %w", b.CPU, os.NewSyscallError("sched_setaffinity", err))
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }() // it was as it is to be again
	return f()
}
