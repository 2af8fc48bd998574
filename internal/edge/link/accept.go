package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	sourceBits   = 24          // what is one source's, of IPv4
	acceptPauses = time.Second // where there is no descriptor
)

// gate bounds the handshakes that others have begun.
type gate struct {
	most, perNetwork int

	mu       sync.Mutex
	all      int
	networks map[netip.Prefix]int
}

func newGate(most, perNetwork int) *gate {
	return &gate{most: most, perNetwork: perNetwork, networks: map[netip.Prefix]int{}}
}

// enter takes a place, and says whether there was one.
func (g *gate) enter(from netip.Addr) bool {
	network, _ := from.Prefix(sourceBits)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= g.most || g.networks[network] >= g.perNetwork {
		return false
	}
	g.all++
	g.networks[network]++
	return true
}

// leave gives it back.
func (g *gate) leave(from netip.Addr) {
	network, _ := from.Prefix(sourceBits)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.networks[network]--; g.networks[network] == 0 {
		delete(g.networks, network)
	}
}

// gateOf is where a connection from there has to pass.
func (l *Links) gateOf(from netip.Addr) *gate {
	for _, p := range l.all() {
		if p.configured().Address.Addr() == from {
			return l.known
		}
	}
	return l.strange
}

// accept takes connections until the context ends.
func (l *Links) accept(ctx context.Context, listener net.Listener) error {
	for {
		c, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept edges: %w", err)
		case err != nil:
			l.o.Log.Warn("an edge's connection cannot be accepted", "error", err)
			pause(ctx, acceptPauses)
			continue
		}
		from := remote(c)
		places := l.gateOf(from.Addr())
		if !places.enter(from.Addr()) {
			_ = c.Close()
			l.o.Handler.Rejected(from, "", ErrTooMany)
			continue
		}
		l.running.Go(func() {
			met, err := l.meet(ctx, c, nil)
			places.leave(from.Addr())
			if err == nil {
				met.live()
			}
		})
	}
}

// pause waits, or says that the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
