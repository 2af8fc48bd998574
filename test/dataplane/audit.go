package dataplane

import (
	"errors"
	"fmt"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Census counts what stands in the tables, record by record, while Usage reads
// the programs' own counters.
type Census struct {
	Sessions   int // live
	Referenced int // ended, but others refer to their filter entry
	Resting    int // ended, free when they have rested
	Free       int // never used, or used again
	// SessionIndex to BoundPortIndex are slots in use.
	SessionIndex     int
	MappingIndex     int
	ReservationIndex int
	BoundPortIndex   int
	Mappings         int // live and quarantined
	Ports            int // taken in the bitmaps, by mappings and for the gateway's own use
	Reservations     int
	Bindings         int // open
	BoundPorts       int
	Known            int // clients with sessions that stand
	Subscribers      int
	Remotes          int
}

// Audit counts what stands in the tables and checks that they agree with each
// other; the error says how they do not. It reads every table whole, and while
// packets pass it may see a change half made: run it again before alarm.
func Audit(d *datapath.Datapath) (Census, error) {
	var c Census
	t, err := tablesOf(d)
	if err != nil {
		return c, err
	}
	a := audit{t: t, c: &c, overflow: map[uint32]int{}}
	steps := []func() error{a.sessions, a.buckets, a.indexes, a.mappings, a.reservations, a.bindings, a.known, a.subscribers, a.remotes, a.ledHosts, a.reserves}
	for _, step := range steps {
		if err := step(); err != nil {
			return c, fmt.Errorf("audit the tables: %w", err)
		}
	}
	return c, errors.Join(a.problems...)
}

type audit struct {
	t        *tables
	c        *Census
	slots    int            // of session_index that the records should have
	overflow map[uint32]int // sessions in no bucket of theirs, by the first of them
	problems []error
}

func (a *audit) problem(format string, args ...any) {
	a.problems = append(a.problems, fmt.Errorf(format, args...))
}

// hasMapping is session_has_mapping of bpf/conntrack/session.h.
func hasMapping(s *typesSession) bool {
	return typesOrigin(s.Origin) == typesOriginORIGIN_INSIDE || typesOrigin(s.Origin) == typesOriginORIGIN_MAPPING
}

// isListedOutside is session_is_listed_outside of the same.
func isListedOutside(s *typesSession) bool {
	return slices.Contains([]typesOrigin{typesOriginORIGIN_POOL, typesOriginORIGIN_DNAT, typesOriginORIGIN_BASIC, typesOriginORIGIN_WEB, typesOriginORIGIN_COOKIE}, typesOrigin(s.Origin))
}

// isOutbound is session_is_outbound of bpf/conntrack/tcp.h.
func isOutbound(s *typesSession) bool {
	return slices.Contains([]typesOrigin{typesOriginORIGIN_INSIDE, typesOriginORIGIN_OWN, typesOriginORIGIN_BASIC, typesOriginORIGIN_EDGE_OUT}, typesOrigin(s.Origin))
}

func (a *audit) sessions() error {
	used, err := a.t.usedRecords()
	if err != nil {
		return err
	}
	return datapath.ForEach(a.t.of["session_table"], func(number uint32, s *typesSession) {
		owner := 0
		if s.Marks.As.Flags&sessionFilterOwner != 0 {
			owner = 1
		}
		switch typesPhase(s.Life.As.Phase) {
		case typesPhasePHASE_LIVE:
			a.c.Sessions++
			a.slots += owner
			if isListedOutside(s) {
				a.slots++
			}
			first, second := a.t.recordBuckets(s)
			if bucket := number / BucketRecords; bucket != first && bucket != second {
				a.slots++
				a.overflow[first]++
			}
		case typesPhasePHASE_REFERENCED:
			a.c.Referenced++
			a.slots += owner
		case typesPhasePHASE_RESTING:
			a.c.Resting++
		default:
			a.c.Free++
			if used[number] {
				a.problem("session record %d is free and marked as used", number)
			}
			return
		}
		if !used[number] {
			a.problem("session record %d is in phase %d and not marked as used", number, s.Life.As.Phase)
		}
	})
}

// buckets compares what each bucket counts with the sessions that overflowed it.
func (a *audit) buckets() error {
	check := func(number uint32, s *typesSession) {
		if overflow := a.overflow[number/BucketRecords]; int(s.Marks.As.Overflow) != overflow && s.Marks.As.Overflow != overflowMost {
			a.problem("bucket %d counts %d sessions that overflowed it, there are %d", number/BucketRecords, s.Marks.As.Overflow, overflow)
		}
	}
	var zero typesSession
	if err := a.t.of["session_table"].Lookup(uint32(0), &zero); err != nil {
		return fmt.Errorf("read session record 0: %w", err)
	}
	check(0, &zero)
	return datapath.ForEach(a.t.of["session_table"], func(number uint32, s *typesSession) {
		if number%BucketRecords == 0 {
			check(number, s)
		}
	})
}

func (a *audit) indexes() error {
	for _, index := range []struct {
		table string
		used  *int
	}{
		{"session_index", &a.c.SessionIndex},
		{"mapping_index", &a.c.MappingIndex},
		{"reservation_index", &a.c.ReservationIndex},
		{"bound_port_index", &a.c.BoundPortIndex},
	} {
		err := datapath.ForAll(a.t.of[index.table], func(_ uint32, bucket *typesBucket) {
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
	users, inbound, displaced := 0, 0, 0
	taken := map[uint32]bool{} // slots
	err := datapath.ForAll(a.t.of["mapping_table"], func(number uint32, block *typesMappingBlock) {
		for i, word := range block.Endpoint {
			e := endpointOf(word)
			if typesPhase(e.Phase) == typesPhasePHASE_FREE {
				continue
			}
			a.c.Mappings++
			if uint32(swap(e.Port)) != (number*mappingBlock+uint32(i))%ports {
				displaced++
			}
			taken[number*mappingBlock+uint32(i)] = true
			if typesPhase(e.Phase) == typesPhasePHASE_LIVE {
				users += int(block.Use[i].Users % mappingInbound)
				inbound += int(block.Use[i].Users / mappingInbound)
			}
		}
	})
	if err != nil {
		return err
	}
	if a.c.MappingIndex != displaced {
		a.problem("%d mappings have not kept their ports, but %d slots of the index are in use", displaced, a.c.MappingIndex)
	}
	if err := a.users(users, inbound); err != nil {
		return err
	}
	return each(a.t, "port_bitmaps", func(array uint32, bitmap *typesPortBitmap) {
		counted := uint32(0)
		for port := range uint32(ports) {
			if bitmap.Word[port/64]&(1<<(port%64)) != 0 {
				a.c.Ports++
				if port >= portClass {
					counted++
				}
			} else if taken[array*ports+port] {
				a.problem("port %d of array %d has a mapping and counts as free", port, array)
			}
		}
		if counted != bitmap.Taken {
			a.problem("array %d counts %d ports that are taken, there are %d", array, bitmap.Taken, counted)
		}
	})
}

// users compares the mappings' sums with the sessions that refer to them, and those from outside among them.
func (a *audit) users(sum, fromOutside int) error {
	all, inbound := 0, 0
	err := datapath.ForEach(a.t.of["session_table"], func(_ uint32, s *typesSession) {
		if typesPhase(s.Life.As.Phase) != typesPhasePHASE_LIVE || !hasMapping(s) {
			return
		}
		all++
		if typesOrigin(s.Origin) == typesOriginORIGIN_MAPPING {
			inbound++
		}
	})
	if sum != all || fromOutside != inbound {
		a.problem("the mappings count %d sessions, %d from outside, there are %d and %d", sum, fromOutside, all, inbound)
	}
	return err
}

func (a *audit) reservations() error {
	list, err := a.t.d.Reservations()
	for _, r := range list {
		if r.Open {
			a.c.Reservations++
		}
	}
	if a.c.Reservations < a.c.ReservationIndex { // an asker's that found no room stand in the queue alone
		a.problem("%d reservations are open, but %d slots of their index are in use", a.c.Reservations, a.c.ReservationIndex)
	}
	return err
}
