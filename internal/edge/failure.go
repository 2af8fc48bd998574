package edge

import (
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// How long a peer that could not be reached is not tried again: doubling from the first to the last.
const (
	firstPause = 5 * time.Second
	lastPause  = 5 * time.Minute
)

// failures remember that a peer cannot be reached, so that no question waits for it in vain. The zero value knows none.
type failures struct {
	pause time.Duration
	until model.Instant
	text  string
}

// standing reports whether it is not to be tried yet.
func (f *failures) standing(now model.Instant) bool { return now.Before(f.until) }

// again notes another.
func (f *failures) again(now model.Instant, why error) {
	f.pause = min(max(2*f.pause, firstPause), lastPause)
	f.until, f.text = now.Add(f.pause), why.Error()
}
