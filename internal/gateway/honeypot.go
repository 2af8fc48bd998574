package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/model"
)

// mostTrapped is how many of those who fell into the honeypot may wait for their ban. Who
// finds no room is banned when he comes again.
const mostTrapped = 1 << 14

// trapped are those who fell into the honeypot and wait for their ban, each offender once,
// with what he did last.
type trapped struct {
	mutex   sync.Mutex // guards waiting
	waiting map[netip.Prefix]ban.Offence
	kick    chan struct{}
}

func newTrapped() *trapped {
	return &trapped{waiting: map[netip.Prefix]ban.Offence{}, kick: make(chan struct{}, 1)}
}

// put takes one more.
func (t *trapped) put(e datapath.TrapEvent) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.waiting) < mostTrapped {
		t.waiting[model.OffenderOf(e.Source)] = ban.Offence{Address: e.Source, Reason: fmt.Sprintf("honeypot: tcp port %d", e.Port)}
	}
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// close is for after the last put.
func (t *trapped) close() { close(t.kick) }

// take returns all who wait.
func (t *trapped) take() []ban.Offence {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	all := slices.Collect(maps.Values(t.waiting))
	clear(t.waiting)
	return all
}

// runHoneypot bans who falls into the honeypot until ctx ends, those too who fell before that.
func (g *Gateway) runHoneypot(ctx context.Context) error {
	traps, err := g.data.Traps()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { g.runTraps(traps) })
	running.Go(g.runBanTrapped)
	<-ctx.Done()
	_ = traps.Close()
	running.Wait()
	return nil
}

// reportHoneypot says which of its ports are served by programs of the gateway.
func (g *Gateway) reportHoneypot(s *api.Status) error {
	s.Remedies = append(s.Remedies, trapRemedies(g.view.Load().config.Protection.Honeypot.Ports)...)
	return nil
}

// runTraps hears from the data plane who fell into the honeypot, until events is closed.
func (g *Gateway) runTraps(events *datapath.Events[datapath.TrapEvent]) {
	defer g.trapped.close()
	follow(events.Next, func(err error) {
		g.log.Error("an event of the honeypot was lost", "error", err)
	}, g.trapped.put)
}

// runBanTrapped bans those who fell into the honeypot until runTraps has ended: all at once
// who came while the bans were busy with others. At a stop those who wait are banned, too.
func (g *Gateway) runBanTrapped() {
	for range g.trapped.kick {
		g.banTrapped()
	}
	g.banTrapped()
}

// banTrapped bans those who wait, unless a reload took the honeypot away meanwhile: nothing
// says then for how long.
func (g *Gateway) banTrapped() {
	all, honeypot := g.trapped.take(), g.view.Load().config.Protection.Honeypot
	if len(all) == 0 || honeypot.Ports.Empty() {
		return
	}
	if _, err := g.bans.Offend(all, honeypot.Ban); err != nil {
		g.log.Error("those who fell into the honeypot are not banned", "addresses", len(all), "error", err)
	}
}
