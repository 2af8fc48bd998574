package gateway

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/guard/ban"
)

func sinksOf(c *config.Config) []events.Options {
	list := make([]events.Options, len(c.Events))
	for i, s := range c.Events {
		list[i] = events.Options{Name: s.Name, File: s.File, Command: s.Command, Webhook: s.Webhook, Kinds: s.Kinds}
	}
	return list
}

// prepareEvents has sinks follow the file, and tells of the start.
func (g *Gateway) prepareEvents(d *draft) (change, error) {
	switch {
	case d.before == nil:
		return change{Commit: func() error { g.begun(d.view); return nil }}, nil
	case d.read:
		return change{Settle: func() { g.events.Follow(sinksOf(d.config)) }}, nil
	}
	return change{}, nil
}

// begun tells that the view is in force.
func (g *Gateway) begun(v *view) {
	g.events.Follow(sinksOf(v.config))
	g.events.Emit(events.Start{
		Version: api.Version(), PID: os.Getpid(), Config: g.options.ConfigFile, Generation: v.generation, Adopted: g.data.Adopted(),
	})
}

// banned tells of at most MostNamed bans that were made at once.
func banned(made []ban.Ban) events.Ban {
	e := events.Ban{Count: len(made), Prefixes: make([]netip.Prefix, len(made))}
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
	for some := range slices.Chunk(made, events.MostNamed) {
		e.hub.Emit(banned(some))
	}
}

// Unbanned implements ban.Events, in the same way.
func (e banEvents) Unbanned(prefixes []netip.Prefix, reason string) {
	for some := range slices.Chunk(prefixes, events.MostNamed) {
		e.hub.Emit(events.Unban{Prefixes: slices.Clone(some), Count: len(some), Reason: reason})
	}
}

// listEvents tells the sinks of lists.
type listEvents struct{ hub *events.Hub }

// ListFailed implements lists.Events.
func (e listEvents) ListFailed(name string, why error) {
	e.hub.Emit(events.ListFailed{List: name, Error: events.Text(why)})
}

// ListRecovered implements lists.Events.
func (e listEvents) ListRecovered(name string) { e.hub.Emit(events.ListRecovered{List: name}) }

// watchEvents tells the sinks of watches.
type watchEvents struct{ hub *events.Hub }

// WatchFailed implements watch.Events.
func (e watchEvents) WatchFailed(name string, why error) {
	e.hub.Emit(events.WatchFailed{Watch: name, Error: events.Text(why)})
}

// WatchRecovered implements watch.Events.
func (e watchEvents) WatchRecovered(name string) { e.hub.Emit(events.WatchRecovered{Watch: name}) }

// Events implements api.Gateway.
func (g commands) Events() ([]api.Sink, error) {
	list := []api.Sink{}
	for _, s := range g.events.Status() {
		list = append(list, api.Sink{
			Name: s.Name, File: s.File, Command: s.Command, Webhook: s.Host(), Kinds: s.Kinds,
			Delivered: s.Delivered, Lost: s.Lost, Queued: s.Queued, Failures: s.Failures, Error: s.Error,
		})
	}
	return list, nil
}

// reportEvents says which sinks do not take events.
func (g *Gateway) reportEvents(s *api.Status) error {
	for _, sink := range g.events.Status() {
		if sink.Error != "" {
			s.Remedies = append(s.Remedies, fmt.Sprintf("events wait for sink %s: %s: see realmgate events", sink.Name, sink.Error))
		}
	}
	return nil
}
