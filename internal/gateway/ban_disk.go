package gateway

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/protect/ban"
)

// mostSaved is how many bans, and of how many offenders the offences, are written at once:
// nobody is banned meanwhile.
const mostSaved = 1 << 16

// unsaved is what the disk has not taken yet.
type unsaved struct{ bans, offences ban.Unsaved }

func (u *unsaved) count() int { return u.bans.Count() + u.offences.Count() }

// diskFault says why the disk has not what is in force.
type diskFault struct {
	entries int // that it lacks, or has in vain
	err     error
}

// noteMade notes bans and offences that are about to be put into the list without the disk.
// Under bans.mutex.
func (g *Gateway) noteMade(made []ban.Ban, records map[netip.Prefix]ban.Record) {
	for _, b := range made {
		g.bans.unsaved.bans.Put(b.Prefix, g.bans.list.Has(b.Prefix))
	}
	for p := range records {
		_, known := g.bans.offences.Get(p)
		g.bans.unsaved.offences.Put(p, known)
	}
}

// noteChanged notes bans and offences that are other than the disk has them. Under bans.mutex.
func (g *Gateway) noteChanged(bans, offenders []netip.Prefix) {
	for _, p := range bans {
		g.bans.unsaved.bans.Put(p, true)
	}
	for _, p := range offenders {
		g.bans.unsaved.offences.Put(p, true)
	}
}

// saveBans writes what was noted. What the disk refuses is in force even so, and stays noted
// for followBans; the log tells of it once. Under bans.mutex.
func (g *Gateway) saveBans() {
	bans, offenders := g.bans.unsaved.bans.Some(mostSaved), g.bans.unsaved.offences.Some(mostSaved)
	err := g.writeBans(bans, offenders)
	if err == nil {
		g.bans.unsaved.bans.Saved(bans)
		g.bans.unsaved.offences.Saved(offenders)
	}
	g.tellDisk(err)
}

// writeBans makes the disk have just what is in force of some bans and offences.
func (g *Gateway) writeBans(bans, offenders []netip.Prefix) error {
	var made []ban.Ban
	var ended, forgotten []netip.Prefix
	for _, p := range bans {
		if b, known := g.bans.list.Get(p); known {
			made = append(made, b)
		} else {
			ended = append(ended, p)
		}
	}
	records := map[netip.Prefix]ban.Record{}
	for _, p := range offenders {
		if r, known := g.bans.offences.Get(p); known {
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
	return g.bans.store.ChangeAll(bansEdit, offencesEdit)
}

// tellDisk remembers why the last write failed, or that it did not. Under bans.mutex.
func (g *Gateway) tellDisk(err error) {
	before, left := g.bans.fault.Load(), g.bans.unsaved.count()
	switch {
	case err != nil:
		if before == nil {
			g.log.Error("bans changed that the disk does not take: they are in force, and written as soon as it does", "entries", left, "error", err)
		}
		g.bans.fault.Store(&diskFault{left, err})
	case before == nil:
	case left > 0:
		g.bans.fault.Store(&diskFault{left, before.err})
	default:
		g.bans.fault.Store(nil)
		g.log.Info("the disk has all bans again")
	}
}

// remedies says that the disk has not what is in force.
func (b *bans) remedies() []string {
	fault := b.fault.Load()
	if fault == nil {
		return nil
	}
	return []string{fmt.Sprintf("%d changes of bans are in force but not on the disk, and a restart undoes them: %v: make room in %s, or make it writable",
		fault.entries, fault.err, stateDirectory)}
}
