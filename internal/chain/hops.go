package chain

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// empty is a function that says nothing: it costs what being in a chain does.
type empty struct{}

func (empty) compile(Shared) (asm.Instructions, map[string]*ebpf.Map, error) {
	return asm.Instructions{asm.Mov.Imm(asm.R0, int32(classifierNfVerdictNF_CONTINUE))}, nil, nil
}

// Hops runs chains of empty functions, with tables of their own and nothing around
// them: how much longer one takes than another is what its functions add. It is not
// safe for concurrent use.
type Hops struct {
	shared Shared
	tables []*ebpf.Map
	chains map[int]*ebpf.Program // by their length
}

// NewHops compiles a chain of each length.
func NewHops(lengths []int) (h *Hops, err error) {
	h = &Hops{chains: map[int]*ebpf.Program{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.makeTables(); err != nil {
		return nil, err
	}
	for _, length := range lengths {
		var steps []Step
		for i := range length {
			steps = append(steps, Step{Number: uint32(i + 1), Function: empty{}})
		}
		if h.chains[length], err = Compile(fmt.Sprintf("of %d", length), steps, h.shared); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// makeTables makes what chains and gateway have in common, without a gateway in it:
// where a chain would return to that it ends.
func (h *Hops) makeTables() error {
	spec, err := loadClassifier()
	if err != nil {
		return fmt.Errorf("read the classifier: %w", err)
	}
	s := &h.shared
	for name, m := range map[string]**ebpf.Map{"nf_packets": &s.Packets, "nf_counts": &s.Counts, "programs": &s.Programs, "chains": &s.Chains} {
		if *m, err = ebpf.NewMap(spec.Maps[name]); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		h.tables = append(h.tables, *m)
	}
	return nil
}

// Run enters the chain of a length so many times in a row, and returns what one time
// takes of a CPU's.
func (h *Hops) Run(length, times int) (ns float64, err error) {
	const leastFrame = 64
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var begun, ended time.Duration
	begin := func() { begun, err = ownTime() }
	begin() // and again where a signal ends it: it then starts anew
	if err != nil {
		return 0, err
	}
	if _, _, failed := h.chains[length].Benchmark(make([]byte, leastFrame), times, begin); failed != nil {
		return 0, fmt.Errorf("run a chain of %d: %w", length, failed)
	}
	if err == nil {
		ended, err = ownTime()
	}
	return float64(ended-begun) / float64(times), err
}

// ownTime is the CPU time that the calling thread has had: the kernel tells the time of a
// run in whole nanoseconds, and a hop takes about one.
func ownTime() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read a thread's time: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

// Asked is how often the last function of chains of a length was asked.
func (h *Hops) Asked(length int) (times uint64, err error) {
	var counts []classifierNfCount // of each CPU
	if err := h.shared.Counts.Lookup(uint32(length), &counts); err != nil {
		return 0, fmt.Errorf("read what a chain of %d counted: %w", length, err)
	}
	for _, c := range counts {
		times += c.Seen
	}
	return times, nil
}

// Close gives the programs and tables up.
func (h *Hops) Close() (err error) {
	for _, program := range h.chains {
		err = errors.Join(err, program.Close())
	}
	for _, m := range h.tables {
		err = errors.Join(err, m.Close())
	}
	return err
}
