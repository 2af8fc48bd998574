package daemon

import (
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/guard/ban"
)

// openEvents tells of the start.
func (g *Daemon) openEvents(d *draft) (change, error) {
	return change{Commit: func() error { g.emitStart(d.view); return nil }}, nil
}

// prepareEvents has sinks follow the file.
func (g *Daemon) prepareEvents(d *draft) (c change, _ error) {
	if d.wanted.read {
		c.Settle = func() { g.events.Follow(events.SinksOf(d.config.Events)) }
	}
	return c, nil
}

// emitStart tells that the view is in force.
func (g *Daemon) emitStart(v *view) {
	g.events.Follow(events.SinksOf(v.config.Events))
	g.events.Emit(event.Start{
		Version: api.Version(), PID: os.Getpid(), Config: g.options.ConfigFile, Generation: v.generation, Adopted: g.data.Adopted(),
	})
}

// banned tells of at most MostNamed bans that were made at once.
func banned(made []ban.Ban) event.Ban {
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

// banEvents tells the sinks of bans.
type banEvents struct{ hub *events.Hub }

// Banned implements ban.Events: each of the bans that were made at once is in one of as many events as it takes, as a sink
// may do the same somewhere else.
func (e banEvents) Banned(made []ban.Ban) {
	for some := range slices.Chunk(made, event.MostNamed) {
		e.hub.Emit(banned(some))
	}
}

// Unbanned implements ban.Events, in the same way.
func (e banEvents) Unbanned(prefixes []netip.Prefix, reason string) {
	for some := range slices.Chunk(prefixes, event.MostNamed) {
		e.hub.Emit(event.Unban{Prefixes: slices.Clone(some), Count: len(some), Reason: reason})
	}
}
