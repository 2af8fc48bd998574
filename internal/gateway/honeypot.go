package gateway

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/realmgate/realmgate/internal/datapath"
)

// mostTrapped is how many of those who fell into the honeypot may wait for their ban. Who
// finds no room is banned when he comes again.
const mostTrapped = 1 << 14

// trapped are those who fell into the honeypot and wait for their ban, with the port where
// they did.
type trapped struct {
	mutex   sync.Mutex // guards waiting
	waiting map[netip.Addr]uint16
	kick    chan struct{}
}

func newTrapped() *trapped {
	return &trapped{waiting: map[netip.Addr]uint16{}, kick: make(chan struct{}, 1)}
}

// put takes one more.
func (t *trapped) put(e datapath.TrapEvent) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.waiting) < mostTrapped {
		t.waiting[e.Source] = e.Port
	}
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// take returns all who wait, by port.
func (t *trapped) take() map[uint16][]netip.Addr {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	byPort := map[uint16][]netip.Addr{}
	for a, port := range t.waiting {
		byPort[port] = append(byPort[port], a)
	}
	clear(t.waiting)
	return byPort
}

// runTraps hears from the data plane who fell into the honeypot.
func (g *Gateway) runTraps(events *datapath.Events[datapath.TrapEvent]) {
	follow(events.Next, func(err error) {
		g.log.Error("an event of the honeypot was lost", "error", err)
	}, g.trapped.put)
}

// runBanTrapped bans those who fell into the honeypot until ctx ends: all at once who came
// while the disk was busy with others.
func (g *Gateway) runBanTrapped(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.trapped.kick:
		}
		for port, sources := range g.trapped.take() {
			if _, err := g.offend(sources, g.view.Load().config.Protection.Honeypot.Ban, fmt.Sprintf("honeypot: tcp port %d", port)); err != nil {
				g.log.Error("those who fell into the honeypot are not banned", "port", port, "addresses", len(sources), "error", err)
			}
		}
	}
}
