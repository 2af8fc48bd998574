package web

import (
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// calmFor is how long all have to be heard until the places are not full any more.
const calmFor = 10 * time.Second

// pressure tells when the places for connections that wait are full, and when they have been enough for a while.
type pressure struct {
	full    bool
	last    model.Instant // that somebody was not heard
	before  uint64        // frames not heard, of all that there were
	unheard uint64        // since they are full
}

// look takes in how many frames were not heard since the start, and says whether that begins, or ends.
func (p *pressure) look(frames uint64, now model.Instant) (begins, ends bool) {
	more := frames - p.before
	p.before = frames
	switch {
	case more > 0:
		begins = !p.full
		if begins {
			p.unheard = 0
		}
		p.full, p.last = true, now
		p.unheard += more
	case p.full && now.Sub(p.last) >= calmFor:
		p.full, ends = false, true
	}
	return begins, ends
}
