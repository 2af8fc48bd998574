package gateway

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/protect/ban"
)

// guardBans learns who must not be banned, and takes those out of the bans that there
// are. Under bans.mutex.
func (g *Gateway) guardBans() (*guard, error) {
	before := g.bans.guard
	next, err := g.newGuard(before)
	if err != nil {
		return nil, err
	}
	g.bans.guard = next
	if before != nil && before.spared.Same(next.spared) {
		return next, nil
	}
	return next, g.recut()
}

// spareAgain lets bans drop nobody who must not be banned any more, and those again who
// may. It is for after a change of who that is.
func (g *Gateway) spareAgain() {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	if g.bans.guard == nil { // before they are loaded, which does it
		return
	}
	if _, err := g.guardBans(); err != nil {
		g.log.Error("some who must not be banned may be dropped by old bans", "error", err)
	}
}

// spareSoon is spareAgain by runBans: who calls it does not wait for the disk.
func (b *bans) spareSoon() {
	select {
	case b.spare <- struct{}{}:
	default:
	}
}

// syncBans makes the kernel have just what is in force of the bans.
func (g *Gateway) syncBans() error {
	g.setCut(g.bans.list.Cut(g.bans.guard.spared))
	var holes []netip.Prefix
	for p := range g.bans.cut.Holes {
		holes = append(holes, p)
	}
	if err := g.data.SpareUnderBans(holes); err != nil { // first: nobody of them is dropped meanwhile
		return err
	}
	all := g.bans.list.All()
	prefixes := make([]netip.Prefix, len(all))
	for i, b := range all {
		prefixes[i] = b.Prefix
	}
	if err := g.data.PutBans(g.effective(prefixes)); err != nil {
		return err
	}
	inKernel, err := g.data.Banned()
	if err != nil {
		return err
	}
	return g.data.DeleteBans(slices.DeleteFunc(inKernel, g.isInKernel))
}

// isInKernel reports whether the kernel is to have an entry of a prefix.
func (g *Gateway) isInKernel(p netip.Prefix) bool {
	return g.bans.cut.Holes[p] || g.bans.list.Has(p) && !g.bans.cut.Whole[p]
}

// recut brings what is spared of the bans up to date. Only bans that somebody spared is in
// or was in are touched in the kernel.
func (g *Gateway) recut() error {
	next := g.bans.list.Cut(g.bans.guard.spared)
	begin, end, open, closed := g.bans.cut.Changes(next)
	g.setCut(next)
	if len(begin)+len(end)+len(open)+len(closed) == 0 {
		return nil
	}
	g.log.Info("bans are spared or in force again", "spared", len(next.Whole), "spared_in_part", len(next.Part), "by_prefixes", len(next.Holes))
	gone := slices.DeleteFunc(slices.Concat(end, closed), g.isInKernel)
	begin = slices.DeleteFunc(append(begin, closed...), func(p netip.Prefix) bool { return !g.bans.list.Has(p) })
	err := errors.Join(g.data.SpareUnderBans(open), g.data.DeleteBans(gone), g.data.PutBans(g.effective(begin)), g.data.JudgeAgain())
	g.bans.late = g.bans.late || err != nil
	return err
}

func (g *Gateway) setCut(next ban.Cut) {
	for _, p := range next.Over {
		if !slices.Contains(g.bans.cut.Over, p) {
			g.log.Warn("a ban is not in force: too many are spared under it", "ban", p, "most", ban.MostHoles)
		}
	}
	g.bans.cut = next
}

// effective is until when the kernel drops packets of the prefixes of bans. It leaves out
// those that are spared.
func (g *Gateway) effective(prefixes []netip.Prefix) map[netip.Prefix]time.Time {
	until := make(map[netip.Prefix]time.Time, len(prefixes))
	for _, p := range prefixes {
		if !g.bans.cut.Whole[p] {
			until[p], _ = g.bans.list.Effective(p)
		}
	}
	return until
}

// lift ends bans in the kernel that the list has no more; those of narrower prefixes
// may end earlier now, and nobody need be spared under those that are gone. What the kernel
// refuses followBans tries again.
func (g *Gateway) lift(removed []netip.Prefix) error {
	var err error
	if g.bans.cut.Touches(removed) {
		err = g.recut()
	}
	gone := slices.DeleteFunc(slices.Clone(removed), g.isInKernel)
	err = errors.Join(err, g.data.DeleteBans(gone), g.data.PutBans(g.effective(g.bans.list.Under(removed))))
	g.bans.late = g.bans.late || err != nil
	return err
}
