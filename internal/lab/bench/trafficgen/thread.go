package trafficgen

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// AnyCPU leaves a tester where the scheduler puts it.
const AnyCPU = -1

// occupy moves the calling thread to a CPU until release is called. One that must
// keep a schedule goes before all ordinary processes: a frame that is a
// millisecond late is hundreds late. The kernel keeps a part of the time for them.
func occupy(cpu int, punctual bool) (release func(), err error) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	only := before
	if cpu != AnyCPU {
		only.Zero()
		only.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return nil, fmt.Errorf("run on CPU %d: %w", cpu, os.NewSyscallError("sched_setaffinity", err))
	}
	if !punctual {
		return func() { _ = unix.SchedSetaffinity(0, &before) }, nil
	}
	ordinary, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		// Threads that this one starts do not inherit it.
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("go before other processes: %w", err), unix.SchedSetaffinity(0, &before))
	}
	return func() {
		_ = unix.SchedSetAttr(0, ordinary, 0)
		_ = unix.SchedSetaffinity(0, &before)
	}, nil
}

// waitedForCPU returns how long this thread has been ready to run and did not, since
// it began.
func waitedForCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0, fmt.Errorf("read how long a thread waited for its CPU: %w", err)
	}
	var ran, waited int64
	if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
		return 0, fmt.Errorf("read how long a thread waited for its CPU: %w", err)
	}
	return time.Duration(waited), nil
}
