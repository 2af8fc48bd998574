package nf

import (
	"fmt"
	"runtime"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// HopKind is how functions of a chain are reached.
type HopKind string

// Built-in functions are inlined; each of a user's own is a program, entered by tail call.
const (
	Inlined HopKind = "inlined"
	Own     HopKind = "own"
)

// empty is a function that says nothing: it costs what being in a chain does.
type empty HopKind

// SeesEveryPacket implements Function.
func (empty) SeesEveryPacket() bool { return false }

func (e empty) Compile(Context) (Compiled, error) {
	p := Compiled{body: asm.Instructions{asm.Mov.Imm(asm.R0, int32(Continue))}}
	if HopKind(e) == Own {
		p.ownProgram = &ownProgram{licence: licence}
	}
	return p, nil
}

// Hops runs chains of empty functions, with tables of their own and nothing around
// them: how much longer one takes than another is what its functions add. It is not
// safe for concurrent use.
type Hops struct {
	trial   *Trial
	made    []Programs
	entries map[int]*ebpf.Program // of chains, by their length
}

// NewHops compiles a chain of each length.
func NewHops(kind HopKind, lengths []int) (h *Hops, err error) {
	trial, err := NewTrial()
	if err != nil {
		return nil, err
	}
	h = &Hops{trial: trial, entries: map[int]*ebpf.Program{}}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	first := uint32(1)
	for _, length := range lengths {
		var steps []Step
		for i := range length {
			steps = append(steps, Step{Name: fmt.Sprint(i + 1), Number: uint32(i + 1), Function: empty(kind)})
		}
		made, err := Build(Policy{Chains: []Chain{{Name: fmt.Sprint("of ", length), Steps: steps}}}, h.trial.Shared, first, &States{})
		if err != nil {
			return nil, err
		}
		h.made = append(h.made, made)
		for i, program := range made.XDP.Chains {
			if err := h.trial.Shared.Chains.Put(first+uint32(i), program); err != nil {
				return nil, fmt.Errorf("put a program in its place: %w", err)
			}
		}
		first += uint32(len(made.XDP.Chains))
		h.entries[length] = made.XDP.Chains[len(made.XDP.Chains)-1] // the last is made first
	}
	return h, nil
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
	if _, _, failed := h.entries[length].Benchmark(make([]byte, leastFrame), times, begin); failed != nil {
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
	var counts []classifierNfCounters // of each CPU
	if err := h.trial.Shared.Counts.Lookup(uint32(0), &counts); err != nil {
		return 0, fmt.Errorf("read what a chain of %d counted: %w", length, err)
	}
	for i := range counts {
		times += counts[i].Of[length].Seen
	}
	return times, nil
}

// Close gives the programs and tables up.
func (h *Hops) Close() {
	for _, made := range h.made {
		made.Close()
	}
	h.trial.Close()
}
