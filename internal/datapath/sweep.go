package datapath

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// sweepMost is how many records one run of the sweep may visit (SWEEP_MOST); it
// ends earlier after many changes, so that no packet waits long behind it.
const sweepMost = 8192

// sweepFrame is the least frame that the kernel runs a program on.
const sweepFrame = 64

// Sweep ages all tables once: it ends sessions and quarantines whose time is
// over, and makes ended records usable again one sweep later. pause, if not
// nil, is called between chunks.
func (d *Datapath) Sweep(pause func()) (freed int, err error) {
	used, err := d.everUsed()
	if err != nil {
		return 0, err
	}
	n, err := d.sweep(bpfSweepTableSWEEP_SESSIONS, 1, used+1, pause)
	if err != nil {
		return n, err
	}
	slots := d.layout.Outbound * protocols * ports
	m, err := d.sweep(bpfSweepTableSWEEP_MAPPINGS, 0, slots, pause)
	return n + m, err
}

// everUsed is the highest record that was ever used.
func (d *Datapath) everUsed() (uint32, error) {
	var fresh bpfFreeList
	if err := d.objects.FreeLists.Lookup(uint32(freshList), &fresh); err != nil {
		return 0, fmt.Errorf("read the high-water mark of sessions: %w", err)
	}
	return uint32(min(fresh.Head, uint64(d.layout.Capacity))), nil
}

// freshList is FREE_LIST_FRESH.
const freshList = 8

func (d *Datapath) sweep(table bpfSweepTable, first, end uint32, pause func()) (freed int, err error) {
	frame := make([]byte, sweepFrame)
	for first < end {
		request := bpfSweepRequest{First: first, Count: min(sweepMost, end-first), Table: uint32(table)}
		if _, err := binary.Encode(frame, binary.NativeEndian, request); err != nil {
			return freed, err
		}
		out := make([]byte, sweepFrame)
		action, err := d.objects.Sweep.Run(&ebpf.RunOptions{Data: frame, DataOut: out})
		if err != nil {
			return freed, fmt.Errorf("run the sweep: %w", err)
		}
		if action != actionPass {
			return freed, fmt.Errorf("the sweep ended with action %d", action)
		}
		if err := binary.Read(bytes.NewReader(out), binary.NativeEndian, &request); err != nil {
			return freed, err
		}
		if request.Count == 0 {
			return freed, errors.New("the sweep came nowhere")
		}
		first += request.Count
		freed += int(request.Freed)
		if pause != nil {
			pause()
		}
	}
	return freed, nil
}
