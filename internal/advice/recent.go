package advice

import (
	"maps"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// totals count, since the start, what warnings go by.
type totals struct {
	reasons                               map[model.Reason]uint64
	exhausted, distrusted, upstreamFailed uint64
	knownFull                             uint64
	uncounted                             uint64 // sessions, with no host inside or no remote address
}

// since is what came after earlier totals.
func (t totals) since(before totals) totals {
	reasons := maps.Clone(t.reasons)
	for reason, n := range before.reasons {
		reasons[reason] -= min(n, reasons[reason])
	}
	return totals{
		reasons: reasons, exhausted: t.exhausted - before.exhausted,
		distrusted: t.distrusted - before.distrusted, upstreamFailed: t.upstreamFailed - before.upstreamFailed,
		knownFull: t.knownFull - min(before.knownFull, t.knownFull),
		uncounted: t.uncounted - min(before.uncounted, t.uncounted),
	}
}

const (
	// recentSpan is how long a cause is told of after it has ended.
	recentSpan = 5 * time.Minute
	// recentStep is how often totals are remembered.
	recentStep = 30 * time.Second
)

// recent remembers the totals of the last minutes, so that a warning ends soon
// after its cause.
type recent struct {
	mutex sync.Mutex
	kept  []moment // the oldest first
}

type moment struct {
	at     model.Instant
	totals totals
}

// note remembers the totals. Call it every recentStep.
func (r *recent) note(now model.Instant, t totals) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for len(r.kept) > 0 && now.Sub(r.kept[0].at) > recentSpan {
		r.kept = r.kept[1:]
	}
	r.kept = append(r.kept, moment{now, t})
}

// since returns what came in the last minutes.
func (r *recent) since(now model.Instant, t totals) totals {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, m := range r.kept {
		if now.Sub(m.at) <= recentSpan {
			return t.since(m.totals)
		}
	}
	return totals{} // nothing was noted for long: what is new cannot be told
}
