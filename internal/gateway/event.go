package gateway

import (
	"context"
	"errors"
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

// emitList tells when a list begins to fail and when that is over, unless a reload has
// stopped the list by ctx: then it is told by the list that took its place.
func (g *Gateway) emitList(ctx context.Context, f *feed, err error) {
	g.feeds.mutex.Lock()
	defer g.feeds.mutex.Unlock()
	if ctx.Err() != nil {
		return
	}
	failing := err != nil
	switch {
	case failing && !f.failing:
		g.events.Emit(events.ListFailed{List: f.config.Name, Error: events.Text(err)})
	case !failing && f.failing:
		g.events.Emit(events.ListRecovered{List: f.config.Name})
	}
	f.failing = failing
}

// emitListsGone tells that lists do not fail any more as there are none of their names.
func (g *Gateway) emitListsGone(names []string) {
	for _, name := range names {
		g.events.Emit(events.ListRecovered{List: name})
	}
}

// emitWatchesGone is the same of watches.
func (g *Gateway) emitWatchesGone(names []string) {
	for _, name := range names {
		g.events.Emit(events.WatchRecovered{Watch: name})
	}
}

// emitWatches tells which watches fail since the last look, and which no longer do. Of one
// that was just launched neither may be known.
func (g *Gateway) emitWatches() {
	g.watches.mutex.Lock()
	defer g.watches.mutex.Unlock()
	for _, r := range g.watches.running {
		s := r.log.Status()
		switch {
		case s.Error != "" && !r.failing:
			g.events.Emit(events.WatchFailed{Watch: r.Name, Error: events.Text(errors.New(s.Error))})
			r.failing = true
		case s.Reads && r.failing:
			g.events.Emit(events.WatchRecovered{Watch: r.Name})
			r.failing = false
		}
	}
}

// Events implements api.Gateway.
func (g *Gateway) Events() ([]api.Sink, error) {
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
