package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/protect/ban"
	"github.com/realmgate/realmgate/internal/store"
)

// bans are the bans in force, in the kernel and on the disk.
type bans struct {
	mutex    sync.Mutex // guards what follows
	list     ban.List
	offences ban.Offences
	guard    *guard  // nil: before the bans are loaded
	cut      ban.Cut // what of the list the guard spares
	store    *store.Store
	unsaved  unsaved
	clock    ban.Clock
	late     bool // the kernel has not just what is in force
	told     map[netip.Addr]time.Time

	fault atomic.Pointer[diskFault] // for who must not wait for the disk; nil: it has all
	spare chan struct{}             // tells runBans that others must not be banned now
}

// prepareBans puts the bans that were kept into force at the start; later it looks anew who must not be banned.
func (g *Gateway) prepareBans(d *draft) (change, error) {
	if d.before == nil {
		return change{Commit: g.loadBans}, nil
	}
	return change{Settle: g.spareAgain}, nil
}

// reportBans says that the disk has not what is in force.
func (g *Gateway) reportBans(s *api.Status) error {
	s.Remedies = append(s.Remedies, g.bans.remedies()...)
	return nil
}

// AddBans implements api.Gateway: all of the prefixes are banned or, with an error, none.
func (g *Gateway) AddBans(r api.BanRequest) (api.BanChange, error) {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	guard, err := g.guardBans()
	if err != nil {
		return api.BanChange{}, err
	}
	now, until := g.bansNow(), time.Time{}
	if r.Seconds > 0 {
		until = now.Add(time.Duration(r.Seconds * float64(time.Second)))
	}
	made, err := g.bans.list.Plan(now, until, ban.Manual, r.Prefixes, guard.why)
	if err != nil {
		return api.BanChange{}, err
	}
	gone, err := g.bans.list.Room(made, nil)
	if err != nil {
		return api.BanChange{}, err
	}
	// The disk comes first: what is answered outlives a crash.
	edit, err := bansEdit(made, gone)
	if err == nil {
		err = g.bans.store.ChangeAll(edit)
	}
	if err != nil {
		return api.BanChange{}, err
	}
	g.bans.unsaved.bans.Saved(slices.Concat(prefixesOf(made), gone))
	if err := g.enforce(made, nil, gone); err != nil {
		return api.BanChange{}, err
	}
	return api.BanChange{Prefixes: len(made)}, nil
}

func prefixesOf(bans []ban.Ban) []netip.Prefix {
	list := make([]netip.Prefix, len(bans))
	for i, b := range bans {
		list[i] = b.Prefix
	}
	return list
}

// enforce puts bans into force, in place of others and of those that give way. Under
// bans.mutex.
func (g *Gateway) enforce(made []ban.Ban, instead, gone []netip.Prefix) error {
	if len(made) == 0 {
		return nil
	}
	g.bans.list.Remove(slices.Concat(instead, gone))
	g.bans.list.Put(made)
	g.emitBans(made)
	g.emitUnbans(instead, events.Widened)
	// Those that give way go first, as the kernel may be full, and those in whose place
	// others are only after these.
	err := errors.Join(g.giveWay(gone), g.data.PutBans(g.effective(g.bans.list.Under(prefixesOf(made)))), g.data.DeleteBans(instead))
	if err != nil {
		g.bans.late = true
		return fmt.Errorf("the bans are kept, and those that the kernel refused are tried again: %w", err)
	}
	g.log.Info("banned", "first", made[0].Prefix, "prefixes", len(made), "until", untilText(made[0].Until), "reason", made[0].Reason)
	return nil
}

func untilText(t time.Time) string {
	if t.IsZero() {
		return "for ever"
	}
	return t.UTC().Format(time.RFC3339)
}

// giveWay ends bans of offenders that the list has no room for.
func (g *Gateway) giveWay(gone []netip.Prefix) error {
	if len(gone) == 0 {
		return nil
	}
	g.log.Warn("there are too many bans: those of offenders that end soonest gave way", "first", gone[0], "prefixes", len(gone), "most", ban.MostAutomatic)
	g.emitUnbans(gone, events.GaveWay)
	return g.lift(gone)
}

// RemoveBans implements api.Gateway: the offences of all in the prefixes are forgotten.
func (g *Gateway) RemoveBans(r api.BanRequest) (api.BanChange, error) {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	asked := make([]netip.Prefix, 0, len(r.Prefixes))
	for _, p := range r.Prefixes {
		if p.IsValid() {
			asked = append(asked, p.Masked())
		}
	}
	// The disk first, and there and in the kernel also what the list has no more: a repeated
	// command mends. Bans that the disk has nothing of end also where it takes nothing.
	forgiven := g.bans.offences.Within(asked)
	offenders := slices.Concat(asked, forgiven)
	onDisk := slices.DeleteFunc(slices.Clone(asked), g.bans.unsaved.bans.Only)
	known := slices.DeleteFunc(slices.Clone(offenders), g.bans.unsaved.offences.Only)
	err := g.bans.store.ChangeAll(store.Edit{Bucket: bansBucket, Remove: keysOf(onDisk)}, store.Edit{Bucket: offencesBucket, Remove: keysOf(known)})
	if err != nil && len(onDisk) > 0 {
		return api.BanChange{}, err
	}
	g.bans.unsaved.bans.Saved(asked)
	if err == nil {
		g.bans.unsaved.offences.Saved(offenders)
	} else {
		g.bans.unsaved.offences.Remove(forgiven)
	}
	g.tellDisk(err)
	g.bans.offences.Forgive(forgiven)
	removed := g.bans.list.Remove(asked)
	g.emitUnbans(removed, events.Removed)
	if err := g.lift(asked); err != nil {
		return api.BanChange{}, fmt.Errorf("the bans are removed, and what the kernel refused is tried again: %w", err)
	}
	g.log.Info("banned no more", "prefixes", len(removed), "offenders_forgiven", len(forgiven))
	return api.BanChange{Prefixes: len(removed), Wider: g.wider(asked)}, nil
}

// wider are the bans that some prefixes still have a part in, each once.
func (g *Gateway) wider(prefixes []netip.Prefix) (list []netip.Prefix) {
	for _, p := range prefixes {
		b, banned := g.bans.list.Covering(p)
		if banned && len(list) < api.MostWider && !slices.Contains(list, b.Prefix) {
			list = append(list, b.Prefix)
		}
	}
	return list
}

// runBans keeps the bans true until ctx ends. It may wait for the disk, and for who does.
func (g *Gateway) runBans(ctx context.Context) {
	refresh := time.NewTicker(refreshEvery)
	defer refresh.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.bans.spare:
			g.spareAgain()
		case <-refresh.C:
			if err := g.followBans(); err != nil {
				g.log.Error("bringing the kernel's bans up to date", "error", err)
			}
		}
	}
}

// followBans removes the bans that are over, whose packets the kernel has let pass since
// then, and puts those that it refused, and those that the disk did.
func (g *Gateway) followBans() error {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	now := g.bansNow()
	var late error
	if g.bans.late {
		late = g.syncBans()
		g.bans.late = late != nil
	}
	if over := g.bans.list.Expire(now); len(over) > 0 {
		g.emitUnbans(over, events.Expired)
		g.bans.unsaved.bans.Remove(over)
		late = errors.Join(late, g.lift(over))
	}
	g.saveBans()
	return late
}

// Bans implements api.Gateway.
func (g *Gateway) Bans() ([]api.Ban, error) {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	list := []api.Ban{}
	for _, b := range g.bans.list.All() {
		shown := api.Ban{Prefix: b.Prefix, Since: b.Since, Until: b.Until, Reason: b.Reason, Offence: b.Offence, Spared: g.sparedText(b.Prefix)}
		list = append(list, shown)
	}
	return list, nil
}

// sparedText says what of a ban is not in force, and why.
func (g *Gateway) sparedText(p netip.Prefix) string {
	part := ""
	switch {
	case g.bans.cut.Part[p]:
		part = "in part: "
	case !g.bans.cut.Whole[p]:
		return ""
	}
	if err := g.bans.guard.why(p); err != nil {
		return part + err.Error()
	}
	return part + "by the allowlist"
}
