package ban

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
)

// Events hears of bans and of their ends.
type Events interface{ Emit(event.Event) }

// teller tells of bans. However many come at once, each is named by one of as many events as it takes: a sink may do the same
// somewhere else.
type teller struct{ Events }

func (t teller) banned(made []Ban) {
	for some := range slices.Chunk(made, event.MostNamed) {
		t.Emit(banned(some))
	}
}

func (t teller) unbanned(prefixes []netip.Prefix, why string) {
	for some := range slices.Chunk(prefixes, event.MostNamed) {
		t.Emit(event.Unban{Prefixes: slices.Clone(some), Count: len(some), Reason: why})
	}
}

// banned tells of at most MostNamed bans that were made at once, by the end of the last.
func banned(made []Ban) event.Ban {
	e := event.Ban{Count: len(made), Prefixes: make([]netip.Prefix, len(made))}
	for i, b := range made {
		e.Prefixes[i] = b.Prefix
		if i == 0 || !e.Until.IsZero() && (b.Until.IsZero() || b.Until.After(e.Until)) {
			e.Until = b.Until
		}
		e.Reason = b.Reason
	}
	e.Until = e.Until.UTC().Truncate(time.Millisecond)
	return e
}
