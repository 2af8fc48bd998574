package datapath

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf"
)

// flowRows is what the CPUs tell of flows, each in a row of its own (bpf/trace/tell.h). What is taken out is the next reader's no
// more. One goroutine reads at a time.
type flowRows struct {
	memory []byte
	rows   []*bpfFlowRow
}

func openFlowRows(table *ebpf.Map) (*flowRows, error) {
	each := sizeOf(bpfFlowRow{})
	memory, err := unix.Mmap(table.FD(), 0, each*int(table.MaxEntries()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map table %s into memory: %w", table, err)
	}
	r := &flowRows{memory: memory}
	for i := range int(table.MaxEntries()) {
		r.rows = append(r.rows, (*bpfFlowRow)(unsafe.Pointer(&memory[i*each])))
	}
	return r, nil
}

// take appends what was written until an instant, row by row. Of an event that is among it, all that led to it are, too: each was
// written before, and is looked for after that instant.
func (r *flowRows) take(until uint64, into []bpfFlowEvent) []bpfFlowEvent {
	for _, row := range r.rows {
		taken := row.Taken
		for {
			e := &row.Event[taken%uint64(len(row.Event))]
			if atomic.LoadUint32(&e.Turn) != uint32(taken+1) || e.At > until { //nolint:gosec // it is counted round
				break
			}
			into = append(into, *e)
			taken++
		}
		if taken != row.Taken {
			atomic.StoreUint64(&row.Taken, taken)
		}
	}
	return into
}

// all is until when all that there is was written.
const all = math.MaxUint64

func (r *flowRows) close() error { return unix.Munmap(r.memory) }
