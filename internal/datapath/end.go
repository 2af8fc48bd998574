package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// endTries is how often a session is tried again whose stripe another CPU holds,
// each time for a millisecond.
const endTries = 100

// EndAll ends every session at once and returns how many. They end as those do
// whose time is over: what they hold is free, ports of datagrams begin their
// quarantine, and reservations hear of it. A session that is opened meanwhile may
// stay. On return the records can be used again.
func (d *sessionTable) EndAll() (n int, err error) {
	d.sweeping.Lock()
	defer d.sweeping.Unlock()
	var ended atomic.Int64
	err = inChunks(d.layout.Capacity, func(first, count uint32) (uint32, error) {
		done, err := d.end(bpfSweepRequest{First: first, Count: count})
		ended.Add(int64(done.Freed))
		return done.Count, err
	})
	n = int(ended.Load())
	return n, errors.Join(err, d.reuse(n))
}

// chunkRecords is how many records a CPU takes at a time.
const chunkRecords = 8192

// inChunks runs visit over the records 1 to last, on all CPUs at once. It may
// come to fewer records than it is asked to.
func inChunks(last uint32, visit func(first, count uint32) (visited uint32, err error)) error {
	var next atomic.Uint32
	chunk := func() error {
		for {
			end := next.Add(chunkRecords)
			for first := end - chunkRecords; first < end; {
				if first >= last {
					return nil
				}
				visited, err := visit(first+1, min(end, last)-first)
				if err != nil {
					return err
				}
				first += visited
			}
		}
	}
	failed := make([]error, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := range failed {
		running.Go(func() { failed[i] = chunk() })
	}
	running.Wait()
	return errors.Join(failed...)
}

// EndSessions ends at once the sessions that are wanted, as EndAll does.
func (d *sessionTable) EndSessions(wanted func(Session) bool) (n int, err error) {
	d.sweeping.Lock()
	defer d.sweeping.Unlock()
	var failed error
	err = d.Sessions(func(s Session) {
		if failed != nil || !wanted(s) {
			return
		}
		var done bpfSweepRequest
		done, failed = d.end(bpfSweepRequest{First: s.record, Count: 1, Use: uint32(s.version) + 1})
		n += int(done.Freed)
	})
	return n, errors.Join(err, failed, d.reuse(n))
}

// endBy ends the sessions by an outbound address that is answered for no longer.
func (d *sessionTable) endBy(address netip.Addr) (n int, err error) {
	d.sweeping.Lock()
	defer d.sweeping.Unlock()
	var ended atomic.Int64
	err = inChunks(d.layout.Capacity, func(first, count uint32) (uint32, error) {
		done, err := d.end(bpfSweepRequest{First: first, Count: count, Address: networkOrder(address)})
		ended.Add(int64(done.Freed))
		return done.Count, err
	})
	n = int(ended.Load())
	return n, errors.Join(err, d.reuse(n))
}

// end ends sessions, again where their stripes were held. The answer counts all
// that ended.
func (d *sessionTable) end(request bpfSweepRequest) (done bpfSweepRequest, err error) {
	request.Table = uint32(bpfSweepTableSWEEP_END)
	freed := uint32(0)
	for range endTries {
		if done, err = d.sweepOnce(request); err != nil {
			break
		}
		freed += done.Freed
		request.Count = done.Count // what came behind it is for the next run
		if done.Busy == 0 {
			break
		}
	}
	if err == nil && done.Busy > 0 {
		err = fmt.Errorf("%d sessions did not end: packets of their hosts come too fast", done.Busy)
	}
	done.Freed = freed
	return done, err
}

// reuse makes the records of n sessions that were ended usable at once: when all
// programs have ended that may have found one of them, a sweep gives them back.
func (d *sessionTable) reuse(n int) error {
	if n == 0 {
		return nil
	}
	if err := waitForPrograms(); err != nil {
		return err
	}
	return inChunks(d.layout.Capacity, func(first, count uint32) (uint32, error) {
		done, err := d.sweepOnce(bpfSweepRequest{First: first, Count: count, Table: uint32(bpfSweepTableSWEEP_SESSIONS)})
		return done.Count, err
	})
}

// membarrierGlobal is MEMBARRIER_CMD_GLOBAL (linux/membarrier.h).
const membarrierGlobal = 1

// waitForPrograms returns when every program that runs now has ended. The barrier
// over all CPUs is a grace period of RCU, under which they run; a kernel with
// nohz_full CPUs refuses it, and a second is a thousand times what any takes.
func waitForPrograms() error {
	_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0)
	switch errno {
	case 0:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.EPERM:
		time.Sleep(time.Second)
		return nil
	}
	return fmt.Errorf("wait for the programs that run: %w", os.NewSyscallError("membarrier", errno))
}
