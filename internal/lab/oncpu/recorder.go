package oncpu

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
)

// Buckets is how many a histogram has: bucket n counts switches after 2^n to 2^(n+1) - 1
// microseconds, the first also earlier and the last all later ones.
const Buckets = len(bpfOncpuCpu{}.Voluntary)

// LowerBound is the shortest time on a CPU that a bucket counts.
func LowerBound(bucket int) time.Duration {
	if bucket == 0 {
		return 0
	}
	return time.Microsecond << bucket
}

// Histogram is how many switches there were, by the time that the task had been on the CPU.
type Histogram [Buckets]uint64

// Switches are those of all CPUs in a while.
type Switches struct {
	Seconds     float64   `json:"seconds"`     // that was watched
	Voluntary   Histogram `json:"voluntary"`   // the task waits for something, or has ended
	Involuntary Histogram `json:"involuntary"` // the task would have gone on
	Idle        Histogram `json:"idle"`        // from the idle task, which runs while no other wants the CPU
}

// Tasks are those from all tasks but the idle one.
func (s Switches) Tasks() Histogram {
	h := s.Voluntary
	h.add(s.Involuntary)
	return h
}

// Total is how many there were.
func (h Histogram) Total() (all uint64) {
	for _, n := range h {
		all += n
	}
	return all
}

// Mode is the bucket that has most of them.
func (h Histogram) Mode() int { return slices.Index(h[:], slices.Max(h[:])) }

func (h *Histogram) add(counts [Buckets]uint64) {
	for i, n := range counts {
		h[i] += n
	}
}

// Recorder counts switches from Start to Stop.
type Recorder struct {
	objects bpfObjects
	link    link.Link
	began   time.Time
}

// Start begins to count.
func Start() (*Recorder, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("lift the limit on locked memory: %w", err)
	}
	r := &Recorder{}
	if err := loadBpfObjects(&r.objects, nil); err != nil {
		return nil, fmt.Errorf("load what sees the scheduler: %w", err)
	}
	var err error
	if r.link, err = link.AttachTracing(link.TracingOptions{Program: r.objects.OncpuSwitch}); err != nil {
		return nil, errors.Join(fmt.Errorf("watch the scheduler: %w", err), r.objects.Close())
	}
	r.began = time.Now()
	return r, nil
}

// Stop ends it, and returns what was counted. What is on a CPU then is not in it.
func (r *Recorder) Stop() (s Switches, err error) {
	s.Seconds = time.Since(r.began).Seconds()
	err = r.link.Close()
	var cpus []bpfOncpuCpu
	if failed := r.objects.OncpuCpus.Lookup(uint32(0), &cpus); failed != nil {
		err = errors.Join(err, fmt.Errorf("read how long tasks were on a CPU: %w", failed))
	}
	for _, cpu := range cpus {
		s.Voluntary.add(cpu.Voluntary)
		s.Involuntary.add(cpu.Involuntary)
		s.Idle.add(cpu.Idle)
	}
	return s, errors.Join(err, r.objects.Close())
}
