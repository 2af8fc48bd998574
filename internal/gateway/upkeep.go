package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	// refreshEvery is how often the data plane is compared with the kernel even
	// when netlink is silent: the XDP features of an interface change unnoticed.
	refreshEvery = time.Second
	// neighboursEvery is how often neighbours in use are confirmed.
	neighboursEvery = 5 * time.Second
	// sweepEvery is how long one sweep of all tables takes at least.
	sweepEvery = time.Second
)

// hostWatch hears of changes to links, addresses and routes.
type hostWatch struct {
	done      chan struct{}
	links     chan netlink.LinkUpdate
	addresses chan netlink.AddrUpdate
	routes    chan netlink.RouteUpdate
}

func newWatch() (w *hostWatch, err error) {
	w = &hostWatch{
		done: make(chan struct{}), links: make(chan netlink.LinkUpdate, 64),
		addresses: make(chan netlink.AddrUpdate, 64), routes: make(chan netlink.RouteUpdate, 64),
	}
	defer func() {
		if err != nil {
			close(w.done)
		}
	}()
	if err := netlink.LinkSubscribe(w.links, w.done); err != nil {
		return nil, fmt.Errorf("listen for changes of interfaces: %w", err)
	}
	if err := netlink.AddrSubscribe(w.addresses, w.done); err != nil {
		return nil, fmt.Errorf("listen for changes of addresses: %w", err)
	}
	if err := netlink.RouteSubscribe(w.routes, w.done); err != nil {
		return nil, fmt.Errorf("listen for changes of routes: %w", err)
	}
	return w, nil
}

// close ends the subscriptions. Their senders may be waiting for a reader.
func (w *hostWatch) close() {
	close(w.done)
	go drain(w.links)
	go drain(w.addresses)
	go drain(w.routes)
}

func drain[T any](updates <-chan T) {
	for range updates { //nolint:revive // until it is closed
	}
}

// followMachine is runUpkeep with notices of the kernel.
func (g *Gateway) followMachine(ctx context.Context) error {
	w, err := newWatch()
	if err != nil {
		return err
	}
	g.runUpkeep(ctx, w)
	return nil
}

// runUpkeep keeps the data plane's picture of the host true. It never waits for the disk,
// nor for bans, which do. It closes w.
func (g *Gateway) runUpkeep(ctx context.Context, w *hostWatch) {
	defer func() {
		if w != nil {
			w.close()
		}
	}()
	refresh := time.NewTicker(refreshEvery)
	defer refresh.Stop()
	neighbours := time.NewTicker(neighboursEvery)
	defer neighbours.Stop()
	hopsLooked, failing := true, ""
	for {
		current := w
		if current == nil {
			current = &hostWatch{} // the tickers go on
		}
		routed, open := false, true
		select {
		case <-ctx.Done():
			return
		case <-refresh.C:
			if w == nil {
				w = g.watchAgain()
				routed = w != nil // nobody heard of changes meanwhile
			}
		case _, open = <-current.links:
			routed = true
		case _, open = <-current.addresses:
			routed = true
		case _, open = <-current.routes:
			routed = true
		case <-neighbours.C:
			failing = g.confirmNeighbours(failing)
			continue
		}
		if !open { // listen anew at the next refresh
			g.log.Warn("the kernel's notices of changes have ended, listening anew soon")
			w.close()
			w = nil
		}
		if err := g.data.Refresh(); err != nil {
			g.log.Warn("following the kernel", "error", err)
		}
		if err := g.lookAtOwn(); err != nil {
			g.log.Warn("following the kernel", "error", err)
		}
		if routed {
			g.data.RoutesChanged()
			g.machine.RoutesChanged()
		}
		if routed || !hopsLooked {
			hopsLooked = g.lookAtHops()
		}
	}
}

// confirmNeighbours returns what fails, and says it if it is not what failed before: a link
// may be without IPv6 for long.
func (g *Gateway) confirmNeighbours(before string) (failing string) {
	if err := g.data.ConfirmNeighbours(g.machine.SharedNextHops()); err != nil {
		failing = err.Error()
	}
	if failing != "" && failing != before {
		g.log.Warn("confirming neighbours", "error", failing)
	}
	return failing
}

// watchAgain returns nothing when it cannot; the next refresh tries again.
func (g *Gateway) watchAgain() *hostWatch {
	w, err := newWatch()
	if err != nil {
		g.log.Warn("following the kernel", "error", err)
		return nil
	}
	return w
}
