package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// sweepFrame is the least frame that the kernel runs a program on.
const sweepFrame = 64

// Sweep ages all tables once: it ends sessions and quarantines whose time is
// over, and makes ended records that have rested usable again. pause, if not
// nil, is called between chunks.
func (d *sessionTable) Sweep(pause func()) (freed int, err error) {
	n, err := d.sweep(bpfSweepTableSWEEP_SESSIONS, 1, d.layout.Capacity+1, pause)
	if err != nil {
		return n, err
	}
	slots := d.layout.Slots * protocols * ports
	m, err := d.sweep(bpfSweepTableSWEEP_MAPPINGS, 0, slots, pause)
	return n + m, err
}

// sweep runs the program over the records from first on, up to end.
func (d *sessionTable) sweep(table bpfSweepTable, first, end uint32, pause func()) (freed int, err error) {
	for first < end {
		d.sweeping.Lock()
		done, err := d.sweepOnce(bpfSweepRequest{First: first, Count: end - first, Table: uint32(table)})
		d.sweeping.Unlock()
		if err != nil {
			return freed, err
		}
		first += done.Count
		freed += int(done.Freed)
		if pause != nil {
			pause()
		}
	}
	return freed, nil
}

const xdpPass = 2 // linux/bpf.h

// sweepOnce runs the program once; the caller holds sweeping. The answer says how
// many records it came to, at least one.
func (d *sessionTable) sweepOnce(request bpfSweepRequest) (bpfSweepRequest, error) {
	frame, out := make([]byte, sweepFrame), make([]byte, sweepFrame)
	if _, err := binary.Encode(frame, binary.NativeEndian, request); err != nil {
		return request, err
	}
	action, err := d.objects.Sweep.Run(&ebpf.RunOptions{Data: frame, DataOut: out})
	if err != nil {
		return request, fmt.Errorf("run the sweep: %w", err)
	}
	if action != xdpPass {
		return request, fmt.Errorf("the sweep ended with action %d", action)
	}
	if _, err := binary.Decode(out, binary.NativeEndian, &request); err != nil {
		return request, err
	}
	if request.Count == 0 {
		return request, errors.New("the sweep came nowhere")
	}
	return request, nil
}
