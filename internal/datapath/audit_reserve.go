package datapath

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// recordUses returns what the programs count of records in use: of sessions opened from outside,
// and from inside.
func (d *Datapath) recordUses() (of [2]int, err error) {
	var all bpfRecordUses
	here := make([]bpfRecordUses, ebpf.MustPossibleCPU())
	if err = d.objects.RecordUses.Lookup(uint32(0), &all); err == nil {
		err = d.objects.RecordUsesHere.Lookup(uint32(0), &here)
	}
	if err != nil {
		return of, fmt.Errorf("read the uses of session records: %w", err)
	}
	for _, uses := range append(here, all) {
		for side := range of {
			of[side] += int(uses.Of[side])
		}
	}
	return of, nil
}

// reserves compares what is counted for the reserves with the records in use.
func (a *audit) reserves() error {
	if a.d.layout.Reserve == 0 {
		return nil
	}
	var used [2]int
	err := forEach(a.d.objects.SessionTable, func(_ uint32, s *bpfSession) {
		switch {
		case bpfPhase(s.Life.As.Phase) == bpfPhasePHASE_FREE:
		case isOutbound(s):
			used[1]++
		default:
			used[0]++
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.d.recordUses()
	if counted != used {
		a.problem("%v records are counted for sessions from outside and inside, %v are in use", counted, used)
	}
	return err
}
