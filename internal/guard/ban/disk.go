package ban

import (
	"net/netip"
	"sync/atomic"
)

// mostSaved is how many bans, and of how many offenders the offences, are written at once:
// nobody is banned meanwhile.
const mostSaved = 1 << 16

// unsaved is what the disk has not taken yet.
type unsaved struct{ bans, offences Unsaved }

func (u *unsaved) count() int { return u.bans.Count() + u.offences.Count() }

// diskFault says why the disk has not what is in force.
type diskFault struct {
	entries int // that it lacks, or has in vain
	err     error
}

// onDisk is the bans and the offences on the disk.
type onDisk struct {
	*state
	unsaved unsaved
	fault   atomic.Pointer[diskFault] // for who must not wait for the disk; nil: it has all
}

// noteMade notes bans and offences that are about to be put into the list without the disk.
// Under the mutex.
func (s *onDisk) noteMade(made []Ban, records map[netip.Prefix]Record) {
	for _, b := range made {
		s.unsaved.bans.Put(b.Prefix, s.list.Has(b.Prefix))
	}
	for p := range records {
		_, known := s.offences.Get(p)
		s.unsaved.offences.Put(p, known)
	}
}

// noteChanged notes bans and offences that are other than the disk has them. Under the mutex.
func (s *onDisk) noteChanged(bans, offenders []netip.Prefix) {
	for _, p := range bans {
		s.unsaved.bans.Put(p, true)
	}
	for _, p := range offenders {
		s.unsaved.offences.Put(p, true)
	}
}

// save writes what was noted. What the disk refuses is in force even so, and stays noted
// for follow; the log tells of it once. Under the mutex.
func (s *onDisk) save() {
	bans, offenders := s.unsaved.bans.Some(mostSaved), s.unsaved.offences.Some(mostSaved)
	err := s.write(bans, offenders)
	if err == nil {
		s.unsaved.bans.Saved(bans)
		s.unsaved.offences.Saved(offenders)
	}
	s.tellDisk(err)
}

// write makes the disk have just what is in force of some bans and offences.
func (s *onDisk) write(bans, offenders []netip.Prefix) error {
	var made []Ban
	var ended, forgotten []netip.Prefix
	for _, p := range bans {
		if b, known := s.list.Get(p); known {
			made = append(made, b)
		} else {
			ended = append(ended, p)
		}
	}
	records := map[netip.Prefix]Record{}
	for _, p := range offenders {
		if r, known := s.offences.Get(p); known {
			records[p] = r
		} else {
			forgotten = append(forgotten, p)
		}
	}
	bansEdit, err := bansEdit(made, ended)
	if err != nil {
		return err
	}
	offencesEdit, err := offencesEdit(records, forgotten)
	if err != nil {
		return err
	}
	return s.store.ChangeAll(bansEdit, offencesEdit)
}

// tellDisk remembers why the last write failed, or that it did not. Under the mutex.
func (s *onDisk) tellDisk(err error) {
	before, left := s.fault.Load(), s.unsaved.count()
	switch {
	case err != nil:
		if before == nil {
			s.Log.Error("bans not stored", "hint", "they are in force, and stored as soon as the disk takes them", "entries", left, "error", err)
		}
		s.fault.Store(&diskFault{left, err})
	case before == nil:
	case left > 0:
		s.fault.Store(&diskFault{left, before.err})
	default:
		s.fault.Store(nil)
		s.Log.Info("bans stored again")
	}
}
