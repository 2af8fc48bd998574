package datapath

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// ProgramTime is how often a program was entered and how long it took, with all that it entered by tail call, while the kernel
// took times.
type ProgramTime struct {
	Program string // as it is pinned: the hook, and its name
	Runs    uint64
	Took    time.Duration
}

// TakeTimes has the kernel take the time of every run of every program, which costs each some, until the closer or the end of
// this process.
func TakeTimes() (io.Closer, error) {
	on, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if errors.Is(err, unix.EPERM) {
		return nil, errors.New("the kernel takes the times of programs for root alone: CAP_SYS_ADMIN is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("have the kernel take the times of programs: %w", err)
	}
	return on, nil
}

// ProgramTimes are those of the programs that an instance has pinned, whoever runs, since these were loaded.
func ProgramTimes(instance string) (times []ProgramTime, err error) {
	files, err := pinsOf(instance)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name, ok := strings.CutPrefix(filepath.Base(file), programPins)
		if !ok {
			continue
		}
		p, err := ebpf.LoadPinnedProgram(file, nil)
		if err != nil {
			return nil, fmt.Errorf("open program %s: %w", name, err)
		}
		stats, err := p.Stats()
		if err := errors.Join(err, p.Close()); err != nil {
			return nil, fmt.Errorf("read the times of program %s: %w", name, err)
		}
		times = append(times, ProgramTime{hookFirst(name), stats.RunCount, stats.Runtime})
	}
	return times, nil
}

// hookFirst parts the hook from the name behind it.
func hookFirst(name string) string {
	for _, mode := range []Mode{XDP, TCX} {
		if rest, ok := strings.CutPrefix(name, string(mode)); ok {
			return string(mode) + " " + rest
		}
	}
	return name
}
