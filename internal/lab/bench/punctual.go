package bench

import (
	"fmt"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// leastAchieved is which share of a rate the generator must have kept up.
const leastAchieved = 0.99

// offered is the rate that the generator kept while it had its CPU. While it had not,
// its schedule waited with it: the device had less to do for a while, and never more.
func offered(o trafficgen.Outcome) float64 { return float64(o.Sent+o.Missing) / kept(o) }

// kept is for how many seconds of a trial the tester had its CPU.
func kept(o trafficgen.Outcome) float64 { return (o.Elapsed - min(o.Stalled, o.Waited)).Seconds() }

// Uninterrupted is for how long a tester can send at a rate: where ordinary programs wait
// for its CPU, they have it after 950 ms, for 50, whatever is set (the fair server of
// kernels from 6.12 on, and before them what letRealTimeRun sets lower).
const Uninterrupted = 900 * time.Millisecond

// leastSent is which share of a rate must have been sent over the whole of a trial that
// is reported by it.
const leastSent = 0.98

// Offered wants a trial that is reported by its rate to have been sent at that rate,
// whatever kept the tester from it: what did not come since it was not sent is no fault of
// the device.
func (t *Tester) Offered(o trafficgen.Outcome, rate float64) {
	sent := float64(o.Sent+o.Missing) / o.Elapsed.Seconds()
	if t.bench.Smoke { // too short to tell
		return
	}
	t.gates.Require("generator", sent >= leastSent*rate, "%.0f/s sent, %.0f/s asked", sent, rate)
}

// What the tester may wait for a CPU that others want too: a fiftieth of a trial, or
// what it may have waited before the trial began. At a rate, which the wait does not
// change, it is what the kernel keeps for ordinary programs, a twentieth, and a little:
// also of TCP sessions, of which the window says how many go in step. With a window alone
// the tester waits for the device, whose threads may be on its CPU.
const (
	mostWaitedShare      = 50
	mostWaitedPacedShare = 16
	mostWaited           = 5 * time.Millisecond
)

func mayWait(p trafficgen.Plan, elapsed time.Duration) time.Duration {
	switch {
	case p.Rate > 0:
		return max(mostWaited, elapsed/mostWaitedPacedShare)
	case p.Window > 0:
		return elapsed
	}
	return max(mostWaited, elapsed/mostWaitedShare)
}

// Of each period, commonly a second, the kernel keeps a part for ordinary programs,
// commonly a twentieth, and stops threads that go before them for all of it at once,
// on some kernels even where nobody wants it: time for thousands of frames to be lost.
const (
	realTimePeriod = "/proc/sys/kernel/sched_rt_period_us"
	realTimePart   = "/proc/sys/kernel/sched_rt_runtime_us"
	// ordinaryShare is what is left to them instead, so that no trial can lock a
	// machine up: Ctrl-C, a shell and the kernel's own workers still run.
	ordinaryShare = 200
)

// letRealTimeRun lets the threads of tester and device have nearly all of their CPUs.
func (h *Host) letRealTimeRun() error {
	var values [2]int
	for i, path := range []string{realTimePart, realTimePeriod} {
		text, err := h.Get(path)
		if err != nil {
			return err
		}
		if values[i], err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	return h.Set(realTimePart, strconv.Itoa(nearlyAll(values[0], values[1])))
}

// nearlyAll returns how much of a period threads may take that may take part of it
// now; -1 is all of it, and somebody's wish.
func nearlyAll(part, period int) int {
	if part < 0 {
		return part
	}
	return max(part, period-period/ordinaryShare)
}
