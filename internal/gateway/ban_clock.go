package gateway

import (
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
)

// bansNow is the clock of the day, by which bans end, without the reading that stands still
// while the machine sleeps. When it was set, what began by it moves along. Under bans.mutex.
func (g *Gateway) bansNow() time.Time {
	now := time.Now().Round(0)
	if from, by := g.bans.clock.Look(now, datapath.Running()); by != 0 {
		g.moveBans(from, by)
	}
	return now
}

// moveBans keeps the length of bans that began by a clock which was wrong. Those from before
// end by the clock that is right now: the kernel, which has another, must be told when.
func (g *Gateway) moveBans(from time.Time, by time.Duration) {
	bans, offenders := g.bans.list.Shift(from, by), g.bans.offences.Shift(from, by)
	g.noteChanged(bans, offenders)
	g.bans.late = true
	g.log.Warn("the clock was set, and bans that began since the start move with it", "by", by, "bans", len(bans))
}
