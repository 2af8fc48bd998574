package machine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	// refreshEvery is how often the data plane is compared with the kernel even
	// when netlink is silent: the XDP features of an interface change unnoticed.
	refreshEvery = time.Second
	// neighboursEvery is how often neighbours in use are confirmed.
	neighboursEvery = 5 * time.Second
)

// Notices are the kernel's of changes to links, addresses and routes. Done ends them.
type Notices struct {
	Done      chan struct{}
	Links     chan netlink.LinkUpdate
	Addresses chan netlink.AddrUpdate
	Routes    chan netlink.RouteUpdate
}

// NewNotices subscribes to them.
func NewNotices() (w *Notices, err error) {
	w = &Notices{
		Done: make(chan struct{}), Links: make(chan netlink.LinkUpdate, 64),
		Addresses: make(chan netlink.AddrUpdate, 64), Routes: make(chan netlink.RouteUpdate, 64),
	}
	defer func() {
		if err != nil {
			close(w.Done)
		}
	}()
	if err := netlink.LinkSubscribe(w.Links, w.Done); err != nil {
		return nil, fmt.Errorf("listen for changes of interfaces: %w", err)
	}
	if err := netlink.AddrSubscribe(w.Addresses, w.Done); err != nil {
		return nil, fmt.Errorf("listen for changes of addresses: %w", err)
	}
	if err := netlink.RouteSubscribe(w.Routes, w.Done); err != nil {
		return nil, fmt.Errorf("listen for changes of routes: %w", err)
	}
	return w, nil
}

// close ends the subscriptions. Their senders may be waiting for a reader.
func (w *Notices) close() {
	close(w.Done)
	go drain(w.Links)
	go drain(w.Addresses)
	go drain(w.Routes)
}

func drain[T any](updates <-chan T) {
	for range updates { //nolint:revive // until it is closed
	}
}

// Reconciler has what follows the machine, as netlink and the clock tell of it.
type Reconciler struct {
	Listen     func() (*Notices, error) // NewNotices
	Refresh    func() error             // compares the data plane with the kernel
	Look       func() error             // at the machine's own addresses and sockets
	Routed     func()                   // links, addresses or routes have changed
	Hops       func() bool              // looks at next hops; false where it is too early
	Neighbours func() error             // confirms those in use
	Log        *slog.Logger
}

// Run keeps the data plane's picture of the machine true until ctx ends. It never waits for the disk,
// nor for bans, which do. It closes w.
func (r *Reconciler) Run(ctx context.Context, w *Notices) {
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
			current = &Notices{} // the tickers go on
		}
		routed, open := false, true
		select {
		case <-ctx.Done():
			return
		case <-refresh.C:
			if w == nil {
				w = r.subscribe()
				routed = w != nil // nobody heard of changes meanwhile
			}
		case _, open = <-current.Links:
			routed = true
		case _, open = <-current.Addresses:
			routed = true
		case _, open = <-current.Routes:
			routed = true
		case <-neighbours.C:
			failing = r.confirm(failing)
			continue
		}
		if !open { // listen anew at the next refresh
			r.Log.Warn("netlink subscription ended")
			w.close()
			w = nil
		}
		if err := r.Refresh(); err != nil {
			r.Log.Warn("refresh failed", "error", err)
		}
		if err := r.Look(); err != nil {
			r.Log.Warn("local address update failed", "error", err)
		}
		if routed {
			r.Routed()
		}
		if routed || !hopsLooked {
			hopsLooked = r.Hops()
		}
	}
}

// confirm returns what fails, and says it if it is not what failed before: a link
// may be without IPv6 for long.
func (r *Reconciler) confirm(before string) (failing string) {
	if err := r.Neighbours(); err != nil {
		failing = err.Error()
	}
	if failing != "" && failing != before {
		r.Log.Warn("neighbour confirmation failed", "error", failing)
	}
	return failing
}

// subscribe returns nothing when it cannot; the next refresh tries again.
func (r *Reconciler) subscribe() *Notices {
	w, err := r.Listen()
	if err != nil {
		r.Log.Warn("netlink subscription failed", "error", err)
		return nil
	}
	return w
}
