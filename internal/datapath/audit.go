package datapath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// Census counts what stands in the tables, record by record, while Usage reads
// the programs' own counters.
type Census struct {
	Sessions int `json:"sessions"` // live
	Holding  int `json:"holding"`  // ended, but others lean on their filter entry
	Resting  int `json:"resting"`  // ended, free at the next sweep but one
	Free     int `json:"free"`     // in the free lists
	// SessionIndex, MappingIndex and ReservationIndex are slots in use.
	SessionIndex     int `json:"session_index"`
	MappingIndex     int `json:"mapping_index"`
	ReservationIndex int `json:"reservation_index"`
	Mappings         int `json:"mappings"` // live and quarantined
	Ports            int `json:"ports"`    // taken in the bitmaps, by mappings and for the gateway's own use
	Reservations     int `json:"reservations"`
}

// Audit counts what stands in the tables and checks that they agree with each
// other; the error says how they do not. It reads every table whole, and while
// packets pass it may see a change half made: run it again before alarm.
func (d *Datapath) Audit() (Census, error) {
	var c Census
	a := audit{d: d, c: &c, free: map[uint32]bool{}}
	steps := []func() error{a.sessions, a.freeLists, a.indexes, a.mappings, a.reservations}
	for _, step := range steps {
		if err := step(); err != nil {
			return c, fmt.Errorf("audit the tables: %w", err)
		}
	}
	return c, errors.Join(a.problems...)
}

type audit struct {
	d         *Datapath
	c         *Census
	used      uint32 // highest record ever used
	slots     int    // of session_index that the records should have
	freeByTag int    // records in phase free below used
	free      map[uint32]bool
	problems  []error
}

func (a *audit) problem(format string, args ...any) {
	a.problems = append(a.problems, fmt.Errorf(format, args...))
}

// Flags of a session, bpf/include/types.h.
const sessionFilterOwner = 2

func (a *audit) sessions() error {
	used, err := a.d.everUsed()
	if err != nil {
		return err
	}
	a.used = used
	return forEach(a.d.objects.SessionTable, func(number uint32, s *bpfSession) {
		owner := 0
		if s.Flags&sessionFilterOwner != 0 {
			owner = 1
		}
		switch bpfPhase(s.Life.Phase) {
		case bpfPhasePHASE_LIVE:
			a.c.Sessions++
			a.slots += 1 + owner
			if s.Origin == uint8(bpfOriginORIGIN_POOL) {
				a.slots++
			}
		case bpfPhasePHASE_HOLDING:
			a.c.Holding++
			a.slots += owner
		case bpfPhasePHASE_RESTING:
			a.c.Resting++
		default:
			if number <= used {
				a.freeByTag++
			}
			return
		}
		if number > used {
			a.problem("session record %d is in use, but only %d ever were", number, used)
		}
	})
}

// freeLists walks the lists: every free record that was ever used is in one.
func (a *audit) freeLists() error {
	var s bpfSession
	for list := range uint32(freshList) {
		var head bpfFreeList
		if err := a.d.objects.FreeLists.Lookup(list, &head); err != nil {
			return fmt.Errorf("read free list %d: %w", list, err)
		}
		for number := uint32(head.Head); number != 0; number = s.Filter {
			if number > a.used || a.free[number] {
				a.problem("free list %d leads to record %d, which was never used or is in a list already", list, number)
				break
			}
			a.free[number] = true
			if err := a.d.objects.SessionTable.Lookup(number, &s); err != nil {
				return fmt.Errorf("read session record %d: %w", number, err)
			}
			if bpfPhase(s.Life.Phase) != bpfPhasePHASE_FREE {
				a.problem("record %d is in free list %d and in phase %d", number, list, s.Life.Phase)
			}
		}
	}
	a.c.Free = len(a.free)
	if a.c.Free != a.freeByTag {
		a.problem("%d session records are free, but %d are in the free lists", a.freeByTag, a.c.Free)
	}
	return nil
}

func (a *audit) indexes() error {
	for _, index := range []struct {
		table *ebpf.Map
		bits  uint32
		used  *int
	}{
		{a.d.objects.SessionIndex, a.d.layout.SessionBits, &a.c.SessionIndex},
		{a.d.objects.MappingIndex, a.d.layout.MappingBits, &a.c.MappingIndex},
		{a.d.objects.ReservationIndex, a.d.layout.ReservationBits, &a.c.ReservationIndex},
	} {
		err := each(index.table, func(_ uint32, bucket *bpfBucket) {
			for _, slot := range bucket.Slot {
				if slot != 0 {
					*index.used++
				}
			}
		})
		if err != nil {
			return err
		}
	}
	if a.c.SessionIndex != a.slots {
		a.problem("%d slots of the session index are in use, the sessions need %d", a.c.SessionIndex, a.slots)
	}
	return nil
}

func (a *audit) mappings() error {
	users := 0
	taken := map[uint32]bool{} // slots
	err := each(a.d.objects.MappingTable, func(number uint32, block *bpfMappingBlock) {
		for i, word := range block.Endpoint {
			e := endpointOf(word)
			if bpfPhase(e.Phase) == bpfPhasePHASE_FREE {
				continue
			}
			a.c.Mappings++
			taken[number*blockPorts+uint32(i)] = true
			if bpfPhase(e.Phase) == bpfPhasePHASE_LIVE {
				users += int(block.Users[i])
			}
		}
	})
	if err != nil {
		return err
	}
	if a.c.MappingIndex != a.c.Mappings {
		a.problem("%d mappings stand, but %d slots of their index are in use", a.c.Mappings, a.c.MappingIndex)
	}
	if err := a.users(users); err != nil {
		return err
	}
	return each(a.d.objects.PortBitmaps, func(array uint32, bitmap *bpfPortBitmap) {
		for port := range uint32(ports) {
			if bitmap.Word[port/64]&(1<<(port%64)) != 0 {
				a.c.Ports++
			} else if taken[array*ports+port] {
				a.problem("port %d of array %d has a mapping and counts as free", port, array)
			}
		}
	})
}

// users compares the mappings' sum with the sessions that lean on them.
func (a *audit) users(sum int) error {
	outbound := 0
	err := forEach(a.d.objects.SessionTable, func(_ uint32, s *bpfSession) {
		if bpfPhase(s.Life.Phase) == bpfPhasePHASE_LIVE && s.Origin != uint8(bpfOriginORIGIN_POOL) {
			outbound++
		}
	})
	if sum != outbound {
		a.problem("the mappings count %d sessions, there are %d", sum, outbound)
	}
	return err
}

func (a *audit) reservations() error {
	list, err := a.d.Reservations()
	for _, r := range list {
		if r.Open {
			a.c.Reservations++
		}
	}
	if a.c.Reservations != a.c.ReservationIndex {
		a.problem("%d reservations are open, but %d slots of their index are in use", a.c.Reservations, a.c.ReservationIndex)
	}
	return err
}
