package dataplane

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/datapath"
)

// recordUses returns what the programs count of records in use: of sessions opened from outside,
// and from inside.
func (t *tables) recordUses() (of [2]int, err error) {
	var all typesRecordUses
	here := make([]typesRecordUses, ebpf.MustPossibleCPU())
	if err = t.of["record_uses"].Lookup(uint32(0), &all); err == nil {
		err = t.of["record_uses_here"].Lookup(uint32(0), &here)
	}
	if err != nil {
		return of, fmt.Errorf("read the uses of session records: %w", err)
	}
	for _, each := range append(here, all) {
		for side := range of {
			of[side] += int(each.Of[side])
		}
	}
	return of, nil
}

// reserves compares what is counted for the reserves with the records in use.
func (a *audit) reserves() error {
	if a.t.layout.Reserve == 0 {
		return nil
	}
	var used [2]int
	err := datapath.ForEach(a.t.of["session_table"], func(_ uint32, s *typesSession) {
		switch {
		case typesPhase(s.Life.As.Phase) == typesPhasePHASE_FREE:
		case isOutbound(s):
			used[1]++
		default:
			used[0]++
		}
	})
	if err != nil {
		return err
	}
	counted, err := a.t.recordUses()
	if counted != used {
		a.problem("%v records are counted for sessions from outside and inside, %v are in use", counted, used)
	}
	return err
}
